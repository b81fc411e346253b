//! Precisions taken apart and put together again: the same bits, and errors for damaged arrays.

mod models;

use riemla::Control;
use riemla::Error;
use riemla::curvature::{Laplace, LaplaceConfig, PrecisionParts, PriorChoice, Structure, Subset};
use riemla::nn::Activation;
use riemla::objective::{Likelihood, PriorPrecision};
use riemla::testing::check_precision;
use riemla::train::{Lbfgs, lbfgs};

const LOW_RANK: Structure = Structure::LowRank { rank: 7 };

fn parts(structure: Structure, subset: Subset) -> PrecisionParts {
    let network = models::mlp(&[2, 5, 3], Activation::Tanh);
    let loss = models::loss(&network, Likelihood::Categorical, 30, 0.3);
    let prior = PriorChoice::Fixed(PriorPrecision::PerLayer(vec![0.2, 3.0]));
    let config = LaplaceConfig { structure, subset, prior, ..Default::default() };
    Laplace::fit(&loss, &network.initialize(1), &config, Control::default())
        .unwrap()
        .gaussian
        .precision()
        .parts()
        .unwrap()
}

#[test]
fn every_structure_comes_back_with_the_same_bits() {
    let named = |names: &[&str]| Subset::Parameters(names.iter().map(|n| n.to_string()).collect());
    for structure in [Structure::Full, Structure::Diagonal, Structure::Kronecker, LOW_RANK] {
        for subset in [Subset::All, Subset::LastLayer, named(&["0.bias"]), named(&["0.weight", "2.bias"])] {
            let taken = parts(structure, subset);
            let precision = taken.assemble().unwrap();
            assert_eq!(precision.parts().unwrap(), taken);
            check_precision(&*precision, 1);
        }
    }
}

/// An optimised noise scales the curvature: the scale is part of the precision.
#[test]
fn the_scale_of_another_noise_comes_back() {
    let network = models::mlp(&[2, 4, 1], Activation::Tanh);
    let loss = models::loss(&network, models::GAUSSIAN, 30, 0.3);
    let mut theta = network.initialize(1);
    lbfgs(&loss, &mut theta, &Lbfgs::default(), Control::default()).unwrap();
    let config = LaplaceConfig { structure: Structure::Kronecker, ..Default::default() };
    let laplace = Laplace::fit(&loss, &theta, &config, Control::default()).unwrap();
    assert_ne!(laplace.likelihood, models::GAUSSIAN);
    let taken = laplace.gaussian.precision().parts().unwrap();
    let (mut before, mut after) = (models::normals(1, network.dim()), models::normals(1, network.dim()));
    laplace.gaussian.precision().sqrt_solve(&mut before);
    taken.assemble().unwrap().sqrt_solve(&mut after);
    assert_eq!(before, after);
}

#[test]
fn a_damaged_array_is_a_typed_error() {
    let refuse = |what: &str, damage: &dyn Fn(&mut PrecisionParts), structure| {
        let mut damaged = parts(structure, Subset::All);
        damage(&mut damaged);
        let error = damaged.assemble().expect_err(what);
        let typed = matches!(
            error,
            Error::Shape { .. }
                | Error::Range { .. }
                | Error::NotFinite { .. }
                | Error::NotPositiveDefinite { .. }
        );
        assert!(typed, "{structure:?} {what}: {error:?}");
    };
    for structure in [Structure::Full, Structure::Diagonal, Structure::Kronecker, LOW_RANK] {
        let count = parts(structure, Subset::All).arrays.len();
        for i in 0..count {
            let bad = [f64::NAN, f64::INFINITY, -7.5];
            for value in bad {
                refuse(&format!("array {i}: {value}"), &|p| p.arrays[i].values[0] = value, structure);
            }
            refuse(&format!("array {i}: huge"), &|p| p.arrays[i].dims = vec![usize::MAX, 2], structure);
            refuse(&format!("array {i}: empty"), &|p| p.arrays[i].values.truncate(0), structure);
            refuse(&format!("array {i}: missing"), &|p| drop(p.arrays.remove(i)), structure);
            refuse(&format!("array {i}: renamed"), &|p| p.arrays[i].name += "x", structure);
        }
    }
    let flat = |p: &mut PrecisionParts| p.arrays.iter_mut().for_each(|a| a.dims = vec![a.values.len()]);
    refuse("flat", &flat, Structure::Kronecker);
    refuse("flat", &flat, LOW_RANK);
    let twice = |p: &mut PrecisionParts| {
        let vectors = p.arrays.iter_mut().find(|a| a.name.ends_with("vectors")).unwrap();
        vectors.values.iter_mut().for_each(|v| *v *= 1.1);
    };
    refuse("not orthonormal", &twice, Structure::Kronecker);
    refuse("not orthonormal", &twice, LOW_RANK);
    refuse("another rank", &|p| p.structure = Structure::LowRank { rank: 8 }, LOW_RANK);
    refuse("another structure", &|p| p.structure = Structure::Kronecker, LOW_RANK);
    let singular = |p: &mut PrecisionParts| {
        p.arrays.iter_mut().filter(|a| a.name.ends_with("prior_precision")).for_each(|a| a.values[0] = 0.0);
        p.arrays.iter_mut().filter(|a| a.name.ends_with("a.values")).for_each(|a| a.values[0] = 0.0);
    };
    refuse("singular", &singular, Structure::Kronecker);
    let overflow = |p: &mut PrecisionParts| {
        let values = p.arrays.iter_mut().filter(|a| a.name.ends_with(".values"));
        values.for_each(|a| a.values.iter_mut().for_each(|v| *v = 1e300));
    };
    refuse("overflow", &overflow, Structure::Kronecker);
}
