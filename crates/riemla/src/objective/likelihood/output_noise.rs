//! Standard deviations of the noise, one per output.

use serde::{Deserialize, Serialize};

use crate::error::check_positive;
use crate::{Error, Result};

/// One σ per output. They are kept in place, so that a likelihood can be copied like a number.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct OutputNoise {
    sigmas: [f64; Self::MOST],
    outputs: usize,
}

impl OutputNoise {
    /// Most outputs that can have a noise of their own.
    pub const MOST: usize = 64;

    /// Checks and takes one standard deviation per output.
    pub fn new(sigmas: &[f64]) -> Result<Self> {
        if sigmas.is_empty() || sigmas.len() > Self::MOST {
            let allowed = format!("between 1 and {}: give all outputs one noise instead", Self::MOST);
            return Err(Error::range("outputs with a noise of their own", sigmas.len(), allowed));
        }
        sigmas.iter().try_for_each(|sigma| check_positive("sigma_noise", *sigma))?;
        // What is not used is 0, so that equal noises are equal values.
        let mut all = [0.0; Self::MOST];
        all[..sigmas.len()].copy_from_slice(sigmas);
        Ok(Self { sigmas: all, outputs: sigmas.len() })
    }

    /// The standard deviations.
    pub fn sigmas(&self) -> &[f64] {
        &self.sigmas[..self.outputs]
    }
}

impl std::fmt::Debug for OutputNoise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.sigmas().fmt(f)
    }
}

impl TryFrom<Vec<f64>> for OutputNoise {
    type Error = Error;

    fn try_from(sigmas: Vec<f64>) -> Result<Self> {
        Self::new(&sigmas)
    }
}

impl From<OutputNoise> for Vec<f64> {
    fn from(noise: OutputNoise) -> Self {
        noise.sigmas().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::Likelihood;

    #[test]
    fn files_have_a_list_and_mistakes_are_refused() {
        let noise = OutputNoise::new(&[0.5, 2.0]).expect("two");
        let likelihood = Likelihood::GaussianPerOutput { sigma_noise: noise };
        let json = serde_json::to_string(&likelihood).expect("writes");
        assert_eq!(json, r#"{"type":"gaussian-per-output","sigma_noise":[0.5,2.0]}"#);
        assert_eq!(serde_json::from_str::<Likelihood>(&json).expect("reads"), likelihood);
        for wrong in [vec![], vec![1.0, 0.0], vec![f64::NAN], vec![1.0; OutputNoise::MOST + 1]] {
            assert!(OutputNoise::new(&wrong).is_err(), "{wrong:?}");
        }
        assert!(likelihood.check_outputs(2).is_ok() && likelihood.check_outputs(3).is_err());
    }
}
