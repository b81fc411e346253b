//! Elementwise operations: which activation they amount to.
//!
//! Exporters write GELU, SiLU and even softplus as several operations, in orders that change from
//! version to version. So a chain of elementwise operations is carried as its values at fixed points,
//! and compared with the activations at the end.

use std::sync::LazyLock;

use riemla::nn::Activation;

/// Values of an elementwise function at [`POINTS`].
pub type Samples = Vec<f64>;

/// Points at which functions are compared: dense where activations bend, and far out, where
/// exporters switch to asymptotes.
static POINTS: LazyLock<Samples> = LazyLock::new(|| {
    const FAR: [f64; 14] =
        [9.0, 10.0, 12.0, 14.0, 16.0, 18.0, 19.5, 20.5, 22.0, 26.0, 32.0, 45.0, 64.0, 90.0];
    let near = (0..=64).map(|i| 0.25 * f64::from(i) - 8.0);
    near.chain(FAR).chain(FAR.map(|point| -point)).collect()
});

/// Largest difference, relative to 1 + |value|. Constants of exporters are rounded to 24 bits, and
/// PyTorch's softplus drops 2e-9; the two forms of GELU are 5e-4 apart.
const TOLERANCE: f64 = 1e-6;

/// Functions of one argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unary {
    /// One of the activations.
    Known(Activation),
    /// Error function.
    Erf,
    /// 1 − error function. Not standard, but written by tf2onnx for Keras' GELU.
    Erfc,
    /// eᶻ.
    Exp,
    /// Logarithm.
    Log,
    /// −z.
    Neg,
    /// z·sigmoid(αz).
    Swish(f64),
}

/// Functions of two arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

fn activation(function: Activation, z: f64) -> f64 {
    match function {
        Activation::Tanh => z.tanh(),
        Activation::Sigmoid => sigmoid(z),
        Activation::Softplus { beta } => {
            let z = beta * z;
            (z.max(0.0) + (-z.abs()).exp().ln_1p()) / beta
        }
        Activation::Gelu => 0.5 * z * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2),
        Activation::GeluTanh => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (z + 0.044715 * z * z * z);
            0.5 * z * (1.0 + inner.tanh())
        }
        Activation::Silu => z * sigmoid(z),
        Activation::Relu => z.max(0.0),
        Activation::LeakyRelu { slope } => z.max(0.0) + slope * z.min(0.0),
        Activation::Elu { alpha } => z.max(0.0) + alpha * z.min(0.0).exp_m1(),
    }
}

impl Unary {
    fn at(self, z: f64) -> f64 {
        match self {
            Unary::Known(function) => activation(function, z),
            Unary::Erf => libm::erf(z),
            Unary::Erfc => libm::erfc(z),
            Unary::Exp => z.exp(),
            Unary::Log => z.ln(),
            Unary::Neg => -z,
            Unary::Swish(alpha) => z * sigmoid(alpha * z),
        }
    }

    /// This function after another.
    pub fn after(self, inner: &[f64]) -> Samples {
        inner.iter().map(|z| self.at(*z)).collect()
    }
}

impl Binary {
    /// The function of two numbers; truth is 1.
    pub fn at(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::Multiply => a * b,
            Binary::Divide => a / b,
            Binary::Power => a.powf(b),
            Binary::Greater => f64::from(u8::from(a > b)),
            Binary::GreaterOrEqual => f64::from(u8::from(a >= b)),
            Binary::Less => f64::from(u8::from(a < b)),
            Binary::LessOrEqual => f64::from(u8::from(a <= b)),
        }
    }

    /// This function of two others.
    pub fn of(self, a: &[f64], b: &[f64]) -> Samples {
        a.iter().zip(b).map(|(a, b)| self.at(*a, *b)).collect()
    }
}

/// The function that leaves its argument as it is.
pub fn identity() -> Samples {
    POINTS.clone()
}

/// A constant function.
pub fn constant(value: f64) -> Samples {
    vec![value; POINTS.len()]
}

/// What a function turned out to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    /// Its argument.
    Identity,
    /// A multiple of it, shifted.
    Line {
        /// Not 0.
        factor: f64,
        shift: f64,
    },
    /// An activation.
    Activation(Activation),
    /// None of those that riemla knows.
    Unknown,
}

/// Recognises a function by its values.
pub fn find(samples: &[f64]) -> Found {
    // Not a finite number is never close.
    let close = |value: f64, expected: f64| (value - expected).abs() <= TOLERANCE * (1.0 + expected.abs());
    let is = |f: &dyn Fn(f64) -> f64| POINTS.iter().zip(samples).all(|(z, value)| close(*value, f(*z)));
    if is(&|z| z) {
        return Found::Identity;
    }
    let shift = value_at(samples, 0.0);
    let factor = value_at(samples, 1.0) - shift;
    if factor.abs() > TOLERANCE && is(&|z| factor * z + shift) {
        return Found::Line { factor: written(factor), shift: written(shift) };
    }
    let found = candidates(samples).into_iter().find(|function| is(&|z| activation(*function, z)));
    found.map_or(Found::Unknown, Found::Activation)
}

/// A function's value at one of the points.
fn value_at(samples: &[f64], place: f64) -> f64 {
    POINTS.iter().position(|z| *z == place).map_or(f64::NAN, |i| samples[i])
}

/// The activations that a function could be. Their parameters follow from its value at one point each.
fn candidates(samples: &[f64]) -> [Activation; 9] {
    let at = |place: f64| value_at(samples, place);
    [
        Activation::Tanh,
        Activation::Sigmoid,
        Activation::Gelu,
        Activation::GeluTanh,
        Activation::Silu,
        Activation::Relu,
        Activation::Softplus { beta: written(std::f64::consts::LN_2 / at(0.0)) },
        Activation::LeakyRelu { slope: written(-at(-1.0)) },
        Activation::Elu { alpha: written(-at(-90.0)) },
    ]
}

/// The number that was written into a file with 24 bits: 0.01, not 0.00999999977648.
pub fn written(value: f64) -> f64 {
    let short: f64 = (value as f32).to_string().parse().unwrap_or(value);
    if (short - value).abs() <= 1e-7 * value.abs() { short } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compositions_are_recognised_and_near_misses_are_not() {
        let x = identity();
        let root = constant(f64::from(std::f32::consts::SQRT_2));
        let erf = Unary::Erf.after(&Binary::Divide.of(&x, &root));
        let gelu = Binary::Multiply.of(&x, &Binary::Add.of(&erf, &constant(1.0)));
        assert_eq!(find(&Binary::Multiply.of(&gelu, &constant(0.5))), Found::Activation(Activation::Gelu));
        assert_eq!(find(&gelu), Found::Unknown);
        let silu = Binary::Multiply.of(&x, &Unary::Known(Activation::Sigmoid).after(&x));
        assert_eq!(find(&silu), Found::Activation(Activation::Silu));
        assert_eq!(find(&Unary::Swish(1.702).after(&x)), Found::Unknown);
        let inner: Samples = x.iter().map(|z| 0.797_884_6 * (z + 0.044715 * z * z * z)).collect();
        let tanh = Unary::Known(Activation::Tanh).after(&inner);
        let approximate: Samples = x.iter().zip(tanh).map(|(z, t)| 0.5 * z * (1.0 + t)).collect();
        assert_eq!(find(&approximate), Found::Activation(Activation::GeluTanh));
        assert_eq!(find(&Binary::Add.of(&approximate, &constant(1e-4))), Found::Unknown);
        assert_eq!(find(&Unary::Neg.after(&x)), Found::Line { factor: -1.0, shift: 0.0 });
        assert_eq!(find(&constant(2.0)), Found::Unknown);
        assert_eq!(find(&Unary::Log.after(&x)), Found::Unknown);
        assert_eq!(find(&Binary::Add.of(&x, &constant(1e-8))), Found::Identity);
    }

    #[test]
    fn parameters_are_found() {
        let x = identity();
        let scaled = Binary::Multiply.of(&x, &constant(3.0));
        let soft = Unary::Known(Activation::SOFTPLUS).after(&scaled);
        let beta = Binary::Divide.of(&soft, &constant(3.0));
        assert_eq!(find(&beta), Found::Activation(Activation::Softplus { beta: 3.0 }));
        assert_eq!(find(&soft), Found::Unknown);
        for function in [
            Activation::LeakyRelu { slope: f64::from(0.01_f32) },
            Activation::Elu { alpha: 0.7 },
            Activation::Elu { alpha: 1.0 },
        ] {
            let rounded = match function {
                Activation::LeakyRelu { .. } => Activation::LeakyRelu { slope: 0.01 },
                other => other,
            };
            assert_eq!(find(&Unary::Known(function).after(&x)), Found::Activation(rounded));
        }
        assert_eq!(
            find(&Unary::Known(Activation::SOFTPLUS).after(&x)),
            Found::Activation(Activation::SOFTPLUS)
        );
    }
}
