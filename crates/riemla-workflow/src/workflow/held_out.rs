//! Whether held-out rows are enough to choose something by them, and the temperature fitted to them.
//!
//! What the best temperature, or a strength, is worth depends on how many of them the network
//! gets wrong: if none, the best confidence is without bound, and one wrong row more or less changes it
//! by a factor. The temperature closest to 1 that rows do not reject needs no wrong ones: if there are none, it expects as many as could
//! have been missed by chance. The tests show what the two numbers below are good for.

use riemla::data::Dataset;
use riemla::predict::{Prediction, Temperature, TemperatureStatus, fit_temperature};
use riemla_files::SavedPosterior;

use super::error::Result;
use super::guarantees::Wanted;
use super::input::DataFiles;
use super::members::Together;
use crate::scores::{decoded_targets, losses};

/// Least number of held-out rows.
pub const LEAST_ROWS: usize = 50;
/// Least number of them that are classified wrong, to choose the best of something.
pub const LEAST_WRONG: usize = 5;

/// Why so many rows are too few, if they are.
fn too_few_rows(rows: usize) -> Option<String> {
    (rows < LEAST_ROWS).then(|| format!("{rows} rows are held out, but at least {LEAST_ROWS} are needed"))
}

/// Why these rows are too few to choose the best of something by, if they are.
pub(super) fn too_few(prediction: &Prediction, data: &Dataset) -> Option<String> {
    let rows = data.len();
    if let Some(reason) = too_few_rows(rows) {
        return Some(reason);
    }
    let each = match prediction {
        Prediction::Classes(_) => 1,
        Prediction::Labels(p) => p.labels,
        Prediction::Values(_) | Prediction::Counts(_) => return None,
    };
    // Of several labels, the loss of a row is the share of wrong ones.
    let wrong = losses(prediction, data.targets()).ok()?.iter().sum::<f64>() * each as f64;
    let wrong = wrong.round() as usize;
    (wrong < LEAST_WRONG).then(|| {
        format!(
            "{wrong} of the {rows} held-out rows are misclassified, but at least {LEAST_WRONG} are needed"
        )
    })
}

/// Rows that were not trained on: those given, or those that the posterior kept.
pub(super) fn held_out_rows(
    saved: &SavedPosterior,
    given: Option<&DataFiles>,
    notes: &mut Vec<String>,
) -> Result<Option<Dataset>> {
    match given {
        Some(files) => files.labelled(&saved.model, notes).map(Some),
        None => Ok(saved.data.as_ref().and_then(|data| data.validation.clone())),
    }
}

/// The temperature fitted to held-out rows; none, with a note, if they are too few to tell. Of one network the best, of averages the
/// one closest to 1 that the rows do not reject.
pub(super) fn temperature(
    predictor: &Together,
    held_out: Option<&Dataset>,
    notes: &mut Vec<String>,
) -> Result<Option<Temperature>> {
    let Some(held_out) = held_out else {
        let note = "no temperature: it needs rows that were not trained on; give some with --validation";
        notes.push(note.into());
        return Ok(None);
    };
    let prediction = predictor.predict(held_out.inputs())?;
    if matches!(prediction, Prediction::Counts(_)) {
        return Ok(None);
    }
    let average = predictor.is_average();
    let too_few = if average { too_few_rows(held_out.len()) } else { too_few(&prediction, held_out) };
    if let Some(reason) = too_few {
        notes.push(format!("no temperature: {reason}; give more with --validation"));
        return Ok(None);
    }
    let targets = decoded_targets(held_out.targets(), predictor.scales());
    let temperature = fit_temperature(&prediction, &targets)?;
    if average {
        return Ok(Some(temperature.careful()));
    }
    if temperature.status != TemperatureStatus::Converged {
        notes.push(format!("temperature: {}", temperature.status));
    }
    Ok(Some(temperature))
}

/// At which temperature new rows are predicted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum TemperatureChoice {
    /// For averages, the one closest to 1 that held-out rows do not reject, if they are enough; else 1, with the trained weights
    /// beside the draws where leaving out rows said so. The trained weights alone stay as they are.
    #[default]
    Auto,
    /// Given; 1 leaves predictions as they are.
    Given(f64),
}

impl TemperatureChoice {
    /// The predictor at this temperature. One that was fitted under its own name keeps that. Where something is promised by
    /// the held-out rows, none is fitted to them: such rows must not have chosen anything.
    pub fn apply(
        self,
        predictor: Together,
        held_out: Option<&Dataset>,
        promised: Wanted,
    ) -> Result<Together> {
        let predictor = match (self, predictor.mixed) {
            (Self::Given(_), true) => {
                Together { beside: predictor.beside, ..predictor.predictors[0].clone().into() }
            }
            _ => predictor,
        };
        let temperature = match self {
            Self::Given(value) => Some(Temperature::given(value)?).filter(|given| given.temperature != 1.0),
            Self::Auto if predictor.temperature.is_some() || predictor.mixed => return Ok(predictor),
            Self::Auto if promised.is_something() || !predictor.is_average() => None,
            Self::Auto => {
                let found = temperature(&predictor, held_out, &mut Vec::new())?;
                found.filter(|found| found.temperature != 1.0)
            }
        };
        match predictor.mixed() {
            Some(mixed) if self == Self::Auto && temperature.is_none() && !promised.is_something() => {
                Ok(mixed)
            }
            _ => Ok(Together { temperature, ..predictor }),
        }
    }
}

#[cfg(test)]
mod tests {
    use riemla::objective::Likelihood;
    use riemla::random::{Purpose, fill_normal, stream};
    use riemla::score::{nll, normal_cdf};

    use super::*;

    const CLASSES: usize = 3;

    /// Outputs of a network that is calibrated: labels follow its probabilities. A wide spread makes it accurate.
    fn calibrated(rows: usize, spread: f64, index: u64) -> (Prediction, Dataset) {
        let mut normal = vec![0.0; 2 * rows * CLASSES];
        fill_normal(&mut stream(11, Purpose::Data, index), &mut normal);
        let (outputs, noise) = normal.split_at_mut(rows * CLASSES);
        outputs.iter_mut().for_each(|output| *output *= spread);
        // The largest of outputs with Gumbel noise has the probabilities of the softmax.
        let gumbel = |normal: f64| -(-normal_cdf(normal).ln()).ln();
        let label = |(f, e): (&[f64], &[f64])| {
            let noisy: Vec<f64> = f.iter().zip(e).map(|(f, e)| f + gumbel(*e)).collect();
            (1..CLASSES).fold(0, |best, k| if noisy[k] > noisy[best] { k } else { best })
        };
        let labels = outputs.chunks(CLASSES).zip(noise.chunks(CLASSES)).map(label).collect();
        let data = Dataset::classification(vec![0.0; rows], 1, labels).expect("data");
        (of(outputs.to_vec(), Likelihood::Categorical, CLASSES), data)
    }

    fn of(outputs: Vec<f64>, likelihood: Likelihood, width: usize) -> Prediction {
        Prediction::from_outputs(&[outputs], width, likelihood).expect("predicts")
    }

    fn nll_at(temperature: &Temperature, (prediction, data): &(Prediction, Dataset)) -> f64 {
        let prediction = temperature.apply(prediction.clone()).expect("predicts");
        let probabilities = &prediction.classes().expect("classes").probabilities;
        nll(probabilities, CLASSES, data.labels().expect("labels")).expect("scores")
    }

    /// Mean rise of the test NLL by a fitted temperature, where rows are enough and where they are too few.
    fn harm(rows: usize, spread: f64) -> [Option<f64>; 2] {
        let test = calibrated(2000, spread, u64::MAX);
        let mut rises = [Vec::new(), Vec::new()];
        for index in 0..200 {
            let (prediction, data) = calibrated(rows, spread, index);
            let fitted = fit_temperature(&prediction, data.targets()).expect("a temperature");
            let as_it_is = Temperature { temperature: 1.0, ..fitted };
            let which = usize::from(too_few(&prediction, &data).is_some());
            rises[which].push(nll_at(&fitted, &test) - nll_at(&as_it_is, &test));
        }
        rises.map(|rises| (!rises.is_empty()).then(|| rises.iter().sum::<f64>() / rises.len() as f64))
    }

    /// The network needs no temperature, so that a fitted one can only do harm. One parameter fitted to n
    /// rows costs about 1/2n: 0.01 nats at 50 rows.
    #[test]
    fn enough_rows_do_little_harm_and_too_few_do_much() {
        for spread in [2.0, 6.0, 15.0] {
            let [enough, too_few] = harm(LEAST_ROWS, spread);
            let enough = enough.expect("some are enough");
            assert!(enough < 0.02, "spread {spread}: {enough}");
            if let Some(too_few) = too_few {
                assert!(too_few > 2.0 * enough, "spread {spread}: {too_few} against {enough}");
            }
        }
        let [none, too_few] = harm(15, 6.0);
        assert!(none.is_none() && too_few.expect("all") > 0.5, "{too_few:?}");
    }

    /// Averages over draws: what is done to calibrated ones does no harm however few rows are wrong, and underconfident ones gain where
    /// the best temperature would not be fitted.
    #[test]
    fn careful_temperatures_need_no_wrong_rows() {
        for (spread, flat) in [(2.0, 1.0), (6.0, 1.0), (15.0, 1.0), (15.0, 3.0), (40.0, 6.0)] {
            let flatten = |(prediction, data): (Prediction, Dataset)| {
                (Temperature::given(flat).unwrap().apply(prediction).unwrap(), data)
            };
            let test = flatten(calibrated(2000, spread, u64::MAX));
            let before = nll_at(&Temperature::given(1.0).unwrap(), &test);
            let (mut rises, mut few) = (Vec::new(), 0);
            for index in 0..200 {
                let (prediction, data) = flatten(calibrated(LEAST_ROWS, spread, index));
                let careful = fit_temperature(&prediction, data.targets()).unwrap().careful();
                few += usize::from(too_few(&prediction, &data).is_some());
                rises.push(nll_at(&careful, &test) - before);
            }
            let mean = rises.iter().sum::<f64>() / rises.len() as f64;
            if flat == 1.0 {
                assert!(mean < 2e-3, "spread {spread}: {mean}");
            } else {
                let gain = nll_at(&Temperature::given(1.0 / flat).unwrap(), &test) - before;
                assert!(
                    few > 150 && mean < 0.2 * gain,
                    "spread {spread}, flat {flat}: {mean} of {gain}, {few}"
                );
                assert!(rises.iter().all(|rise| *rise <= 0.0), "{rises:?}");
            }
        }
    }

    #[test]
    fn wrong_rows_are_counted_for_every_likelihood() {
        let labels = |wrong: usize| (0..60).map(|row| usize::from(row < wrong)).collect::<Vec<_>>();
        let data = |wrong| Dataset::classification(vec![0.0; 60], 1, labels(wrong)).expect("data");
        // All rows are predicted to be of class 0.
        for (likelihood, row) in
            [(Likelihood::Bernoulli, &[-1.0][..]), (Likelihood::Categorical, &[1.0, 0.0])]
        {
            let prediction = of(row.repeat(60), likelihood, row.len());
            assert_eq!(too_few(&prediction, &data(5)), None);
            let reason = too_few(&prediction, &data(4)).expect("a reason");
            assert!(reason.contains("4 of the 60"), "{reason}");
        }
        let numbers = |rows| Dataset::regression(vec![0.0; rows], 1, vec![0.0; rows], 1).expect("data");
        let gaussian = Likelihood::Gaussian { sigma_noise: 1.0 };
        let prediction = |rows| of(vec![0.0; rows], gaussian, 1);
        assert_eq!(too_few(&prediction(50), &numbers(50)), None);
        assert!(too_few(&prediction(49), &numbers(49)).is_some());
    }
}
