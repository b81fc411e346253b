//! Batches: which rows a draw follows, that their loss is that of all data on average, leverages in closed form.

mod models;

use std::sync::Arc;

use models::{GAUSSIAN, Hidden, data, mlp, normals};
use riemla::curvature::{Laplace, LaplaceConfig, PriorChoice, Structure, Subset};
use riemla::data::{draw_by_probability, inclusion_probabilities};
use riemla::geometry::exponential_map;
use riemla::nn::Activation;
use riemla::objective::{Likelihood, NetworkLoss, Objective, Prior};
use riemla::posterior::{
    AUTO_SHARE, BatchDesign, BatchPlan, BatchSize, Method, Model, Posterior, PosteriorConfig,
};
use riemla::random::{Purpose, stream};
use riemla::testing::assert_vectors;
use riemla::train::{Lbfgs, lbfgs};
use riemla::{Control, Result};

const PRIOR: f64 = 0.5;

/// A small network on `rows` rows, trained, with its Laplace approximation.
fn fitted(likelihood: Likelihood, rows: usize, config: &LaplaceConfig) -> (NetworkLoss, Laplace) {
    let network = mlp(&[2, 4, 3], Activation::Tanh);
    let prior = Prior::isotropic(PRIOR, network.dim()).unwrap();
    let loss =
        NetworkLoss::new(network.clone(), data(&network, likelihood, rows, 3), likelihood, prior).unwrap();
    let mut theta = network.initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    let laplace = Laplace::fit(&loss, &theta, config, Control::default()).unwrap();
    (loss, laplace)
}

fn keep() -> LaplaceConfig {
    LaplaceConfig { prior: PriorChoice::Keep, ..LaplaceConfig::default() }
}

fn batched(method: Method, size: impl Into<BatchSize>, design: BatchDesign) -> PosteriorConfig {
    let batch = Some(BatchPlan::new(size, design));
    PosteriorConfig { batch, ..PosteriorConfig::paper(method) }
}

/// The batch of a draw by leverage: its rows and how much each counts. Rows are drawn class by class, the largest
/// leverages first.
fn batch_by_leverage(
    posterior: &Posterior,
    share: f64,
    size: usize,
    (seed, index): (u64, u64),
) -> (Vec<usize>, Vec<f64>) {
    let leverages = posterior.leverages().unwrap();
    let (mut order, total) = (order(leverages), leverages.iter().sum::<f64>());
    if let Some(labels) = posterior.model().labels() {
        order.sort_by_key(|row| labels[*row]);
    }
    let part = |row: &usize| share / total * leverages[*row] + (1.0 - share) / leverages.len() as f64;
    let sizes: Vec<f64> = order.iter().map(part).collect();
    let probabilities = inclusion_probabilities(&sizes, size).unwrap();
    let places = draw_by_probability(&probabilities, &mut stream(seed, Purpose::Batch, index));
    let weights = places.iter().map(|&place| 1.0 / probabilities[place]).collect();
    (places.iter().map(|&place| order[place]).collect(), weights)
}

/// All rows, the largest leverage first.
fn order(leverages: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..leverages.len()).collect();
    order.sort_by(|&a, &b| leverages[b].total_cmp(&leverages[a]));
    order
}

/// √K·Seₖ for all k, SSᵀ = P⁻¹: the mean of (Jv)ᵀΛJv over them is the expectation over the Gaussian, exactly.
fn all_directions(laplace: &Laplace) -> Vec<Vec<f64>> {
    let gaussian = &laplace.gaussian;
    let k = gaussian.subset().len();
    let direction = |i| {
        let mut v = vec![0.0; k];
        v[i] = (k as f64).sqrt();
        gaussian.precision().sqrt_solve(&mut v);
        gaussian.subset().scatter(&v, gaussian.theta().len())
    };
    (0..k).map(direction).collect()
}

/// The mean loss of many batches is that of all data, gradients included, also where rows have weights of their own.
#[test]
fn the_loss_of_a_batch_is_unbiased() {
    for likelihood in [Likelihood::Categorical, GAUSSIAN] {
        let (plain, laplace) = fitted(likelihood, 7, &keep());
        let own = plain.data().as_ref().clone().with_weights(vec![1., 2., 0.5, 3., 1., 0., 1.5]).unwrap();
        let weighted =
            NetworkLoss::new(plain.network().clone(), own, likelihood, plain.prior().clone()).unwrap();
        for loss in [plain, weighted] {
            let config = PosteriorConfig::new(Method::RiemLa);
            let posterior = Posterior::of_network(&loss, &laplace, config).unwrap();
            let theta = normals(5, loss.dim());
            let mut all = vec![0.0; loss.dim()];
            let value = loss.value_and_gradient(&theta, &mut all);
            all.push(value);
            const BATCHES: usize = 3000;
            let (mut sums, mut squares) = (vec![0.0; all.len()], vec![0.0; all.len()]);
            for index in 0..BATCHES {
                let (rows, weights) = batch_by_leverage(&posterior, 0.75, 4, (1, index as u64));
                assert_eq!(rows.len(), 4);
                assert!(weights.iter().all(|w| (1.0..=7.0 / (4.0 * 0.25)).contains(w)), "{weights:?}");
                let batch = loss.on_weighted_rows(&rows, &weights).unwrap();
                let mut found = vec![0.0; loss.dim()];
                let value = batch.value_and_gradient(&theta, &mut found);
                found.push(value);
                for ((sum, square), (found, all)) in
                    sums.iter_mut().zip(&mut squares).zip(found.iter().zip(&all))
                {
                    *sum += found - all;
                    *square += (found - all).powi(2);
                }
            }
            // 4.5 standard errors, two-sided, over about 30 numbers in four cases: level 8e-4. Weights that are
            // 5 % wrong fail.
            for (sum, square) in sums.iter().zip(&squares) {
                assert!(sum.abs() < 4.5 * square.sqrt() + 1e-9, "{sum} ± {}", square.sqrt());
            }
        }
    }
}

/// The rows are drawn by leverage, by (seed, index) alone.
#[test]
fn draws_follow_the_loss_of_rows_drawn_by_leverage() {
    let (loss, laplace) = fitted(Likelihood::Categorical, 60, &keep());
    for method in [Method::RiemLa, Method::LinRiemLa] {
        let config = batched(method, 12, BatchDesign::leverage());
        let posterior = Posterior::of_network(&loss, &laplace, config.clone()).unwrap();
        for index in [2, 0, 1] {
            let (rows, weights) = batch_by_leverage(&posterior, 0.5, 12, (5, index));
            assert!(weights.iter().any(|weight| *weight > 3.0), "{weights:?}");
            let batch = loss.on_weighted_rows(&rows, &weights).unwrap();
            let batch: Box<dyn Objective> = match method {
                Method::RiemLa => Box::new(batch),
                _ => batch.linearized(laplace.gaussian.theta()).unwrap(),
            };
            let v = laplace.gaussian.draw_tangent(&mut stream(5, Purpose::Draw, index));
            let theta = laplace.gaussian.theta();
            let end =
                exponential_map(&*batch, 1.0, &config.integrator, theta, &v, 0, Control::default()).unwrap();
            assert_eq!(posterior.draw(5, index, Control::default()).unwrap().theta, end.end);
        }
    }
}

#[test]
fn a_batch_of_all_rows_is_no_batch() {
    let (loss, laplace) = fitted(Likelihood::Categorical, 30, &keep());
    for method in [Method::RiemLa, Method::LinRiemLa] {
        let draws = |config| {
            let posterior = Posterior::of_network(&loss, &laplace, config).unwrap();
            posterior.sample(2, 3, Control::default()).unwrap().draws
        };
        for design in [BatchDesign::leverage(), BatchDesign::Uniform, BatchDesign::Stratified] {
            assert_eq!(draws(batched(method, 30, design)), draws(PosteriorConfig::paper(method)));
            assert_ne!(draws(batched(method, 29, design)), draws(PosteriorConfig::paper(method)));
        }
    }
}

/// Solves Ax = b for a small matrix, by elimination.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for i in 0..n {
        for j in i + 1..n {
            let factor = a[j][i] / a[i][i];
            (i..n).for_each(|k| a[j][k] -= factor * a[i][k]);
            b[j] -= factor * b[i];
        }
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| a[i][k] * b[k]).sum();
        b[i] = (b[i] - known) / a[i][i];
    }
    b
}

/// y = wᵀx + b with Gaussian noise: the leverages are the diagonal of the hat matrix X(XᵀX + δσ²)⁻¹Xᵀ.
#[test]
fn leverages_of_a_linear_regression_are_the_diagonal_of_its_hat_matrix() {
    let (sigma, rows) = (0.3, 25);
    let network = mlp(&[3, 1], Activation::Tanh);
    let inputs = data(&network, GAUSSIAN, rows, 8);
    let prior = Prior::isotropic(PRIOR, 4).unwrap();
    let loss = NetworkLoss::new(network, inputs.clone(), GAUSSIAN, prior).unwrap();
    let mut theta = vec![0.0; 4];
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    let laplace = Laplace::fit(&loss, &theta, &keep(), Control::default()).unwrap();
    let x: Vec<Vec<f64>> = inputs.inputs().chunks(3).map(|row| [row, &[1.0]].concat()).collect();
    let entry = |i: usize, j: usize| {
        let sum: f64 = x.iter().map(|row| row[i] * row[j]).sum();
        sum + if i == j { PRIOR * sigma * sigma } else { 0.0 }
    };
    let gram: Vec<Vec<f64>> = (0..4).map(|i| (0..4).map(|j| entry(i, j)).collect()).collect();
    let hat = |row: &Vec<f64>| solve(gram.clone(), row.clone()).iter().zip(row).map(|(a, b)| a * b).sum();
    let hat: Vec<f64> = x.iter().map(hat).collect();
    let exact = loss.row_curvatures(&theta, &all_directions(&laplace)).unwrap();
    assert_vectors("hat matrix", &exact, &hat, 1e-9, 1e-12);
    // With 20 tangents each is χ²/20 with 20 degrees of freedom: between 0.2 and 2.7 with probability 1 − 2e-4.
    let posterior = Posterior::of_network(&loss, &laplace, PosteriorConfig::new(Method::RiemLa)).unwrap();
    for (found, hat) in posterior.leverages().unwrap().iter().zip(&hat) {
        assert!((0.2..2.7).contains(&(found / hat)), "{found} {hat}");
    }
}

/// They add up to tr(P⁻¹G) = K − δ tr(P⁻¹) = Σ λ/(λ + δ), for all weights and for some.
#[test]
fn leverages_add_up_to_the_effective_dimension() {
    for (likelihood, subset) in [
        (Likelihood::Categorical, Subset::All),
        (GAUSSIAN, Subset::All),
        (Likelihood::Categorical, Subset::LastLayer),
    ] {
        let (loss, laplace) = fitted(likelihood, 40, &LaplaceConfig { subset, ..keep() });
        let theta = laplace.gaussian.theta();
        let exact = loss.row_curvatures(theta, &all_directions(&laplace)).unwrap();
        let k = laplace.gaussian.subset().len();
        let variance = |i| {
            let mut unit = vec![0.0; k];
            unit[i] = 1.0;
            laplace.gaussian.precision().solve(&mut unit);
            unit[i]
        };
        let dimension = k as f64 - PRIOR * (0..k).map(variance).sum::<f64>();
        assert_vectors("dimension", &[exact.iter().sum()], &[dimension], 1e-9, 0.0);
        // With 20 tangents: a variance of 2Σ(λ/(λ + δ))²/20, at most a tenth of the dimension; 4 sd.
        let posterior = Posterior::of_network(&loss, &laplace, PosteriorConfig::new(Method::RiemLa)).unwrap();
        let found: f64 = posterior.leverages().unwrap().iter().sum();
        assert!((found - dimension).abs() < 4.0 * (dimension / 10.0).sqrt(), "{found} {dimension}");
    }
}

#[test]
fn leverages_and_draws_have_the_same_bits_on_any_number_of_threads() {
    let structures = [Structure::Full, Structure::Diagonal, Structure::Kronecker];
    for structure in structures {
        let (loss, laplace) = fitted(Likelihood::Categorical, 60, &LaplaceConfig { structure, ..keep() });
        let config = batched(Method::RiemLa, BatchSize::Auto, BatchDesign::leverage());
        let run = |threads| {
            let posterior = Posterior::of_network(&loss, &laplace, config.clone()).unwrap();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let draws = posterior.sample(4, 4, Control::default()).unwrap().draws;
                (posterior.leverages().unwrap().to_vec(), draws)
            })
        };
        let one = run(1);
        assert_eq!(one, run(4));
        // Draws by index alone, and in another order.
        let posterior = Posterior::of_network(&loss, &laplace, config.clone()).unwrap();
        for draw in one.1.iter().rev() {
            assert_eq!(posterior.draw(4, draw.index, Control::default()).unwrap(), *draw);
        }
    }
}

#[test]
fn the_automatic_size_holds_most_of_the_effective_dimension() {
    let (loss, laplace) = fitted(Likelihood::Categorical, 60, &keep());
    let config = batched(Method::RiemLa, BatchSize::Auto, BatchDesign::leverage());
    let posterior = Posterior::of_network(&loss, &laplace, config).unwrap();
    let rows = posterior.batch_rows().unwrap().unwrap();
    let leverages = posterior.leverages().unwrap();
    let held = |rows: usize| order(leverages)[..rows].iter().map(|&row| leverages[row]).sum::<f64>();
    let wanted = AUTO_SHARE * leverages.iter().sum::<f64>();
    assert!(held(rows) >= wanted && held(rows - 1) < wanted && rows < 60, "{rows}");
    let given = batched(Method::RiemLa, rows, BatchDesign::leverage());
    let given = Posterior::of_network(&loss, &laplace, given).unwrap();
    let draws = |posterior: &Posterior| posterior.sample(1, 3, Control::default()).unwrap().draws;
    assert_eq!(draws(&posterior), draws(&given));
    let none = Posterior::of_network(&loss, &laplace, PosteriorConfig::new(Method::RiemLa)).unwrap();
    assert_eq!(none.batch_rows().unwrap(), None);
}

#[test]
fn plans_come_back_from_files_and_others_are_refused() {
    let read = |text: &str| serde_json::from_str::<BatchPlan>(text);
    for (text, size, design) in [
        (r#"{"size":1000,"design":"leverage=0.5"}"#, 1000.into(), BatchDesign::leverage()),
        (
            r#"{"size":"auto","design":"leverage=0.25"}"#,
            BatchSize::Auto,
            BatchDesign::Leverage { share: 0.25 },
        ),
        (r#"{"size":3,"design":"uniform"}"#, 3.into(), BatchDesign::Uniform),
        (r#"{"size":3,"design":"stratified"}"#, 3.into(), BatchDesign::Stratified),
    ] {
        let plan = BatchPlan::new(size, design);
        assert_eq!(read(text).unwrap(), plan);
        assert_eq!(serde_json::to_string(&plan).unwrap(), text);
    }
    assert_eq!(read(r#"{"size":5,"design":"leverage"}"#).unwrap().design, BatchDesign::leverage());
    assert_eq!(read(r#"{"size":5}"#).unwrap().design, BatchDesign::Uniform);
    for bad in ["leverage=1", "leverage=-0.1", "leverage=nan", "leverage=", "uniform=1", "hat", ""] {
        let error = bad.parse::<BatchDesign>().unwrap_err().to_string();
        assert!(error.contains("leverage") || error.contains("below 1"), "{error}");
    }
    assert!(read(r#"{"size":"all"}"#).is_err() && read(r#"{"size":5,"stratified":true}"#).is_err());
    let (loss, laplace) = fitted(GAUSSIAN, 20, &keep());
    for (size, design, words) in [
        (5, BatchDesign::Leverage { share: 1.0 }, "below 1"),
        (21, BatchDesign::leverage(), "20 rows"),
        (5, BatchDesign::Stratified, "class labels"),
    ] {
        let config = batched(Method::RiemLa, size, design);
        let error = Posterior::of_network(&loss, &laplace, config).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// A loss with rows whose outputs are not known.
impl Model for Hidden {
    fn rows(&self) -> Option<usize> {
        self.0.rows()
    }

    fn on_rows(&self, rows: &[usize], weights: &[f64]) -> Result<Box<dyn Model>> {
        Ok(Box::new(Hidden(self.0.on_weighted_rows(rows, weights)?)))
    }
}

#[test]
fn a_model_without_curvatures_of_its_rows_has_uniform_batches() {
    let (loss, laplace) = fitted(Likelihood::Categorical, 20, &keep());
    let model = Arc::new(Hidden(loss.with(loss.likelihood(), loss.prior().clone()).unwrap()));
    let make = |size: BatchSize, design| {
        Posterior::new(model.clone(), laplace.gaussian.clone(), batched(Method::RiemLa, size, design))
    };
    for (size, design) in [(5.into(), BatchDesign::leverage()), (BatchSize::Auto, BatchDesign::Uniform)] {
        let error = make(size, design).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("curvatures of its rows") && error.contains("use uniform batches"), "{error}");
    }
    let draws = |posterior: Posterior| posterior.sample(1, 2, Control::default()).unwrap().draws;
    let open =
        Posterior::of_network(&loss, &laplace, batched(Method::RiemLa, 5, BatchDesign::Uniform)).unwrap();
    assert_eq!(draws(make(5.into(), BatchDesign::Uniform).unwrap()), draws(open));
}
