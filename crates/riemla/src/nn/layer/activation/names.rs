//! Activations as words: `tanh`, `leaky-relu(0.2)`.

use std::fmt;
use std::str::FromStr;

use super::Activation;

/// Every word, with PyTorch's parameter where there is one.
const WORDS: [(&str, Activation); 9] = [
    ("tanh", Activation::Tanh),
    ("sigmoid", Activation::Sigmoid),
    ("softplus", Activation::SOFTPLUS),
    ("gelu", Activation::Gelu),
    ("gelu-tanh", Activation::GeluTanh),
    ("silu", Activation::Silu),
    ("relu", Activation::Relu),
    ("leaky-relu", Activation::LeakyRelu { slope: 0.01 }),
    ("elu", Activation::Elu { alpha: 1.0 }),
];

impl Activation {
    fn parameter(&self) -> Option<f64> {
        let mut copy = *self;
        copy.parameter_mut().copied()
    }

    fn parameter_mut(&mut self) -> Option<&mut f64> {
        match self {
            Self::Softplus { beta } => Some(beta),
            Self::LeakyRelu { slope } => Some(slope),
            Self::Elu { alpha } => Some(alpha),
            _ => None,
        }
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let same = |(_, other): &&(&str, Self)| std::mem::discriminant(self) == std::mem::discriminant(other);
        let Some((word, usual)) = WORDS.iter().find(same) else { return Err(fmt::Error) };
        match self.parameter() {
            Some(parameter) if self != usual => write!(f, "{word}({parameter})"),
            _ => f.write_str(word),
        }
    }
}

impl FromStr for Activation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, argument) = match text.split_once('(') {
            Some((word, rest)) => (word, Some(rest.strip_suffix(')').unwrap_or(rest).trim())),
            None => (text, None),
        };
        let Some((_, mut function)) = WORDS.iter().copied().find(|(known, _)| *known == word.trim()) else {
            let words: Vec<String> = WORDS.iter().map(|(word, _)| format!("`{word}`")).collect();
            return Err(format!("unknown activation `{text}`, expected one of {}", words.join(", ")));
        };
        if let Some(argument) = argument {
            let number: Option<f64> = argument.parse().ok().filter(|number: &f64| number.is_finite());
            match (function.parameter_mut(), number) {
                (Some(parameter), Some(number)) => *parameter = number,
                (None, _) => {
                    return Err(format!("activation `{word}` has no parameter, but `{text}` gives one"));
                }
                (_, None) => return Err(format!("`{argument}` in activation `{text}` is not a number")),
            }
        }
        function.check().map(|()| function).map_err(|error| error.to_string())
    }
}

impl TryFrom<String> for Activation {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Activation> for String {
    fn from(activation: Activation) -> Self {
        activation.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for (word, function) in WORDS {
            assert_eq!((word.parse(), function.to_string()), (Ok(function), word.to_string()));
        }
        for (word, function) in [
            ("softplus(0.1)", Activation::Softplus { beta: 0.1 }),
            ("leaky-relu(0.30000000000000004)", Activation::LeakyRelu { slope: 0.1 + 0.2 }),
            ("elu(-2)", Activation::Elu { alpha: -2.0 }),
        ] {
            assert_eq!((word.parse(), function.to_string()), (Ok(function), word.to_string()));
        }
        for (word, reason) in [
            ("mish", "expected one of `tanh`"),
            ("tanh(2)", "no parameter"),
            ("elu(x)", "not a number"),
            ("softplus(0)", "above 0"),
            ("elu(inf)", "not a number"),
        ] {
            let error = word.parse::<Activation>().unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
