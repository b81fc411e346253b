//! Elementwise activations with first and second derivatives.

mod names;
mod rules;

use serde::{Deserialize, Serialize};

use self::rules::{Elu, Gelu, GeluTanh, LeakyRelu, Relu, Rule, Sigmoid, Silu, Softplus, Tanh};
use super::{At, InPlace, Layer, Shape};
use crate::linalg::elementwise;
use crate::linalg::simd::{Isa, Kernel, dispatch};
use crate::{Error, Result};

/// The elementwise functions, by PyTorch's names.
///
/// In files and on the command line they are words, with the parameter in brackets where it is not
/// PyTorch's default: `tanh`, `softplus`, `softplus(2)`, `leaky-relu(0.2)`, `elu(0.5)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Activation {
    /// Hyperbolic tangent.
    Tanh,
    /// 1/(1 + e⁻ᶻ).
    Sigmoid,
    /// log(1 + exp(βz))/β; [`Activation::SOFTPLUS`] has β = 1.
    Softplus {
        /// β, above 0.
        beta: f64,
    },
    /// z·Φ(z), Φ the normal distribution function (the exact form).
    Gelu,
    /// GELU with tanh(√(2/π)·(z + 0.044715·z³)) for 2Φ(z) − 1.
    GeluTanh,
    /// z·sigmoid(z).
    Silu,
    /// max(z, 0). Its derivative jumps at 0.
    Relu,
    /// z above 0, slope·z below. Its derivative jumps at 0.
    LeakyRelu {
        /// Derivative below 0.
        slope: f64,
    },
    /// z above 0, α(eᶻ − 1) below. Its derivative jumps at 0 unless α is 1.
    Elu {
        /// α: the function goes to −α.
        alpha: f64,
    },
}

impl Activation {
    /// log(1 + eᶻ).
    pub const SOFTPLUS: Self = Self::Softplus { beta: 1.0 };

    /// Whether the derivative is continuous.
    fn is_smooth(self) -> bool {
        match self {
            Self::Relu => false,
            Self::LeakyRelu { slope: parameter } | Self::Elu { alpha: parameter } => parameter == 1.0,
            _ => true,
        }
    }

    fn check(self) -> Result<()> {
        match self {
            Self::Softplus { beta } => crate::error::check_positive("beta of softplus", beta),
            Self::LeakyRelu { slope: parameter } | Self::Elu { alpha: parameter }
                if !parameter.is_finite() =>
            {
                Err(Error::range("parameter of an activation", parameter, "a finite number"))
            }
            _ => Ok(()),
        }
    }
}

/// out ← φ'·a, optionally + c·φ''·b·d: every derivative pass has this form.
struct Pass<'a, R> {
    at: At<'a>,
    linear: Option<&'a [f64]>,
    quadratic: Option<(f64, &'a [f64], &'a [f64])>,
    out: &'a mut [f64],
    rule: R,
}

impl<R: Rule> Kernel for Pass<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let (z, y) = (self.at.x, self.at.y);
        let out = self.out;
        match self.linear {
            None => out.fill(0.0),
            Some(a) => {
                for (((o, &z), &y), &a) in out.iter_mut().zip(z).zip(y).zip(a) {
                    *o = self.rule.first(z, y) * a;
                }
            }
        }
        if let Some((c, b, d)) = self.quadratic {
            for ((((o, &z), &y), &b), &d) in out.iter_mut().zip(z).zip(y).zip(b).zip(d) {
                *o += c * self.rule.second(z, y) * b * d;
            }
        }
    }
}

/// An activation applied to every feature of inputs of one shape.
#[derive(Debug)]
pub struct ActivationLayer {
    function: Activation,
    shape: Shape,
}

impl ActivationLayer {
    /// `function` on inputs of the given shape.
    pub fn new(function: Activation, shape: Shape) -> Result<Self> {
        function.check()?;
        Ok(Self { function, shape })
    }

    fn pass(
        &self,
        at: At<'_>,
        linear: Option<&[f64]>,
        quadratic: Option<(f64, &[f64], &[f64])>,
        out: &mut [f64],
    ) {
        fn run<R: Rule>(
            rule: R,
            at: At<'_>,
            linear: Option<&[f64]>,
            quadratic: Option<(f64, &[f64], &[f64])>,
            out: &mut [f64],
        ) {
            dispatch(Pass { at, linear, quadratic, out, rule });
        }
        match self.function {
            Activation::Tanh => run(Tanh, at, linear, quadratic, out),
            Activation::Sigmoid => run(Sigmoid, at, linear, quadratic, out),
            Activation::Softplus { beta } => run(Softplus { beta }, at, linear, quadratic, out),
            Activation::Gelu => run(Gelu, at, linear, quadratic, out),
            Activation::GeluTanh => run(GeluTanh, at, linear, quadratic, out),
            Activation::Silu => run(Silu, at, linear, quadratic, out),
            Activation::Relu => run(Relu, at, linear, quadratic, out),
            Activation::LeakyRelu { slope } => run(LeakyRelu { slope }, at, linear, quadratic, out),
            Activation::Elu { alpha } => run(Elu { alpha }, at, linear, quadratic, out),
        }
    }
}

fn map(y: &mut [f64], f: impl Fn(f64) -> f64) {
    y.iter_mut().for_each(|y| *y = f(*y));
}

impl Layer for ActivationLayer {
    fn output(&self) -> Shape {
        self.shape
    }

    fn is_smooth(&self) -> bool {
        self.function.is_smooth()
    }

    fn forward(&self, n: usize, params: &[f64], x: &[f64], y: &mut [f64]) {
        match self.function {
            Activation::Tanh => elementwise::tanh(x, y),
            Activation::Sigmoid => elementwise::sigmoid(x, y),
            _ => {
                y.copy_from_slice(x);
                self.forward_in_place(n, params, y);
            }
        }
    }

    fn in_place(&self) -> InPlace {
        match self.function {
            // The output is positive just where the input is.
            Activation::Tanh | Activation::Sigmoid | Activation::Relu => InPlace::Derivatives,
            _ => InPlace::Values,
        }
    }

    fn forward_in_place(&self, _n: usize, _params: &[f64], y: &mut [f64]) {
        match self.function {
            Activation::Tanh => elementwise::tanh_in_place(y),
            Activation::Sigmoid => elementwise::sigmoid_in_place(y),
            Activation::Softplus { beta } => map(y, |z| rules::softplus(beta * z) / beta),
            Activation::Gelu => map(y, |z| z * rules::normal(z).1),
            Activation::GeluTanh => map(y, |z| 0.5 * z * (1.0 + rules::gelu_tanh(z).0)),
            Activation::Silu => map(y, |z| z * rules::sigmoid(z)),
            // Written so that NaN stays NaN: `max` would turn it into 0.
            Activation::Relu => map(y, |z| if z <= 0.0 { 0.0 } else { z }),
            Activation::LeakyRelu { slope } => map(y, |z| if z > 0.0 { z } else { slope * z }),
            Activation::Elu { alpha } => map(y, |z| if z > 0.0 { z } else { alpha * z.exp_m1() }),
        }
    }

    fn tangent(&self, at: At<'_>, _direction: &[f64], dx: Option<&[f64]>, dy: &mut [f64]) {
        self.pass(at, dx, None, dy);
    }

    fn second(
        &self,
        at: At<'_>,
        _direction: &[f64],
        dx: Option<&[f64]>,
        d2x: Option<&[f64]>,
        d2y: &mut [f64],
    ) {
        self.pass(at, d2x, dx.map(|dx| (0.5, dx, dx)), d2y);
    }

    fn backward(
        &self,
        at: At<'_>,
        y_adjoint: &[f64],
        x_adjoint: Option<&mut [f64]>,
        _gradient: Option<&mut [f64]>,
    ) {
        if let Some(x_adjoint) = x_adjoint {
            self.pass(at, Some(y_adjoint), None, x_adjoint);
        }
    }

    fn backward_tangent(
        &self,
        at: At<'_>,
        _direction: &[f64],
        dx: Option<&[f64]>,
        y_adjoint: &[f64],
        dy_adjoint: &[f64],
        dx_adjoint: Option<&mut [f64]>,
        _d_gradient: &mut [f64],
    ) {
        if let Some(dx_adjoint) = dx_adjoint {
            self.pass(at, Some(dy_adjoint), dx.map(|dx| (1.0, dx, y_adjoint)), dx_adjoint);
        }
    }
}
