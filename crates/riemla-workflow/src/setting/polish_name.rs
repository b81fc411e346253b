//! A polish in the name of a setting: `polish=100`, `polish=auto`, `polish=100 leaps=5 accept=80%`.

use std::fmt;
use std::str::FromStr;

use riemla::posterior::{Mass, Polish, PolishLength};

/// A polish by name: its gradients, and what differs from the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PolishName {
    /// Gradients; none if they are found.
    gradients: Option<usize>,
    mass: Mass,
    leaps: usize,
    /// Target acceptance in percent.
    acceptance: u8,
}

impl PolishName {
    /// With the defaults.
    fn new(gradients: Option<usize>) -> Self {
        let Polish { mass, leaps, acceptance, .. } = Polish::auto();
        Self { gradients, mass, leaps, acceptance: (100.0 * acceptance).round() as u8 }
    }

    pub(super) fn config(self) -> Polish {
        Polish {
            length: self.gradients.map_or(PolishLength::Auto, PolishLength::Gradients),
            mass: self.mass,
            leaps: self.leaps,
            acceptance: f64::from(self.acceptance) / 100.0,
            ..Polish::auto()
        }
    }
}

const MASSES: [(&str, Mass); 4] = [
    ("auto", Mass::Auto),
    ("identity", Mass::Identity),
    ("diagonal", Mass::Diagonal),
    ("laplace", Mass::Laplace),
];

impl fmt::Display for PolishName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gradients {
            Some(gradients) => write!(f, "polish={gradients}")?,
            None => write!(f, "polish=auto")?,
        }
        let default = Self::new(self.gradients);
        if let Some((name, _)) = MASSES.iter().find(|(_, mass)| *mass == self.mass && *mass != default.mass) {
            write!(f, " mass={name}")?;
        }
        if self.leaps != default.leaps {
            write!(f, " leaps={}", self.leaps)?;
        }
        if self.acceptance != default.acceptance {
            write!(f, " accept={}%", self.acceptance)?;
        }
        Ok(())
    }
}

/// Of what follows `polish=`.
impl FromStr for PolishName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("polish={text}: after polish= comes a number of gradients from 1 on, or auto");
        let mut words = text.split(' ');
        let mut polish = match words.next() {
            Some("auto") => Self::new(None),
            Some(number) => Self::new(Some(number.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?)),
            None => return Err(wrong()),
        };
        for word in words {
            let mass = |name: &str| MASSES.iter().find(|(known, _)| *known == name).map(|(_, mass)| *mass);
            let read = match word.split_once('=') {
                Some(("mass", name)) => mass(name).map(|mass| polish.mass = mass),
                Some(("leaps", n)) => n.parse().ok().filter(|n| *n > 0).map(|leaps| polish.leaps = leaps),
                Some(("accept", share)) => {
                    let percent = share.strip_suffix('%').and_then(|n| n.parse().ok());
                    percent.filter(|n| (1..100).contains(n)).map(|n| polish.acceptance = n)
                }
                _ => None,
            };
            read.ok_or_else(|| {
                format!(
                    "polish={text}: `{word}` is none of mass=auto|identity|diagonal|laplace, leaps=5, accept=80%"
                )
            })?;
        }
        Ok(polish)
    }
}
