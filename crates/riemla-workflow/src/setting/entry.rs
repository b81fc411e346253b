//! A method with its setting by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Setting, written_as_text};
use crate::method::MethodName;

written_as_text!(Entry);

/// A method with its setting, in one line: `la`, `riem-la virial`, `swag rate=0.1`. Without a setting,
/// geodesics are run in all settings asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Entry {
    /// The method.
    pub method: MethodName,
    /// Its setting, if it is given.
    pub setting: Option<Setting>,
}

impl From<MethodName> for Entry {
    fn from(method: MethodName) -> Self {
        Self { method, setting: None }
    }
}

impl Entry {
    /// The same draws before their polish.
    pub fn without_polish(self) -> Self {
        let setting = self.setting.map(|setting| Setting { polish: None, ..setting });
        Self { method: self.method, setting: setting.filter(|setting| *setting != Setting::ANY) }
    }

    /// Its name, with the setting where that matters.
    pub fn of(method: MethodName, setting: Setting) -> Self {
        Self { method, setting: Some(setting).filter(|setting| *setting != Setting::ANY) }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.setting {
            Some(setting) => write!(f, "{} {setting}", self.method),
            None => self.method.fmt(f),
        }
    }
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(' ').map_or((text, None), |(word, rest)| (word, Some(rest)));
        let method = word.parse::<MethodName>()?;
        let setting = rest.map(str::parse::<Setting>).transpose()?;
        let fits = |setting: Setting| match setting
            .rate()
            .map(|_| MethodName::Swag)
            .or(setting.step().map(|_| MethodName::Mclmc))
        {
            Some(fit) => method == fit && setting.polish.is_none(),
            None if setting.kind == Setting::ANY.kind => {
                setting.polish.is_some() && matches!(method, MethodName::La | MethodName::LinLa)
            }
            None => method.is_riemannian(),
        };
        match setting.filter(|setting| !fits(*setting)) {
            Some(setting) => Err(format!(
                "{text}: {method} has no setting {setting}; methods with geodesics take a setting, as in \
                 `riem-la virial`, swag a learning rate, as in `swag rate=0.1`, and mclmc a step size, as in `mclmc step=0.1`"
            )),
            None => Ok(Self { method, setting }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_others_are_refused() {
        let good = "la|lin-la|riem-la|riem-la virial polish=100|la polish=50|riem-la a=0.5|lin-riem-la preconditioned virial|nuts|swag|swag rate=0.1|mclmc step=0.1";
        for name in good.split('|') {
            assert_eq!(name.parse::<Entry>().expect(name).to_string(), name);
        }
        let bad = "hmc|la virial|riem-la polish=5|nuts polish=5|nuts 3|swag 3|swag rate=x|swag virial|riem-la rate=1|riem-la viral|";
        for name in bad.split('|') {
            assert!(name.parse::<Entry>().is_err(), "{name}");
        }
    }
}
