//! Elementwise activations with first and second derivatives.

use serde::{Deserialize, Serialize};

use super::{At, Layer, Shape};
use crate::linalg::elementwise;
use crate::linalg::simd::{Kernel, dispatch};

/// The elementwise functions, by PyTorch's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// Hyperbolic tangent.
    Tanh,
    /// 1/(1 + e⁻ᶻ).
    Sigmoid,
    /// log(1 + eᶻ).
    Softplus,
    /// z·Φ(z), Φ the normal distribution function (the exact form, not the tanh one).
    Gelu,
    /// z·sigmoid(z).
    Silu,
    /// max(z, 0). Its derivative jumps at 0.
    Relu,
}

/// φ' and φ'' of one activation from the input z and the output y = φ(z).
trait Rule {
    fn first(z: f64, y: f64) -> f64;
    fn second(z: f64, y: f64) -> f64;
}

fn sigmoid(z: f64) -> f64 {
    if z >= 0.0 {
        1.0 / (1.0 + (-z).exp())
    } else {
        let e = z.exp();
        e / (1.0 + e)
    }
}

fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}

/// Normal density and distribution function.
fn normal(z: f64) -> (f64, f64) {
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    (density, 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2))
}

struct Tanh;
impl Rule for Tanh {
    #[inline(always)]
    fn first(_z: f64, y: f64) -> f64 {
        1.0 - y * y
    }
    #[inline(always)]
    fn second(_z: f64, y: f64) -> f64 {
        -2.0 * y * (1.0 - y * y)
    }
}

struct Sigmoid;
impl Rule for Sigmoid {
    #[inline(always)]
    fn first(_z: f64, y: f64) -> f64 {
        y * (1.0 - y)
    }
    #[inline(always)]
    fn second(_z: f64, y: f64) -> f64 {
        y * (1.0 - y) * (1.0 - 2.0 * y)
    }
}

struct Softplus;
impl Rule for Softplus {
    #[inline(always)]
    fn first(z: f64, _y: f64) -> f64 {
        sigmoid(z)
    }
    #[inline(always)]
    fn second(z: f64, _y: f64) -> f64 {
        let s = sigmoid(z);
        s * (1.0 - s)
    }
}

struct Gelu;
impl Rule for Gelu {
    #[inline(always)]
    fn first(z: f64, _y: f64) -> f64 {
        let (density, distribution) = normal(z);
        distribution + z * density
    }
    #[inline(always)]
    fn second(z: f64, _y: f64) -> f64 {
        (2.0 - z * z) * normal(z).0
    }
}

struct Silu;
impl Rule for Silu {
    #[inline(always)]
    fn first(z: f64, _y: f64) -> f64 {
        let s = sigmoid(z);
        s * (1.0 + z * (1.0 - s))
    }
    #[inline(always)]
    fn second(z: f64, _y: f64) -> f64 {
        let s = sigmoid(z);
        s * (1.0 - s) * (2.0 + z * (1.0 - 2.0 * s))
    }
}

struct Relu;
impl Rule for Relu {
    #[inline(always)]
    fn first(z: f64, _y: f64) -> f64 {
        if z > 0.0 { 1.0 } else { 0.0 }
    }
    #[inline(always)]
    fn second(_z: f64, _y: f64) -> f64 {
        0.0
    }
}

/// out ← φ'·a, optionally + c·φ''·b·d: every derivative pass has this form.
struct Pass<'a, R> {
    at: At<'a>,
    linear: Option<&'a [f64]>,
    quadratic: Option<(f64, &'a [f64], &'a [f64])>,
    out: &'a mut [f64],
    rule: std::marker::PhantomData<R>,
}

impl<R: Rule> Kernel for Pass<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (z, y) = (self.at.x, self.at.y);
        let out = self.out;
        match self.linear {
            None => out.fill(0.0),
            Some(a) => {
                for (((o, &z), &y), &a) in out.iter_mut().zip(z).zip(y).zip(a) {
                    *o = R::first(z, y) * a;
                }
            }
        }
        if let Some((c, b, d)) = self.quadratic {
            for ((((o, &z), &y), &b), &d) in out.iter_mut().zip(z).zip(y).zip(b).zip(d) {
                *o += c * R::second(z, y) * b * d;
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
    pub fn new(function: Activation, shape: Shape) -> Self {
        Self { function, shape }
    }

    fn pass(
        &self,
        at: At<'_>,
        linear: Option<&[f64]>,
        quadratic: Option<(f64, &[f64], &[f64])>,
        out: &mut [f64],
    ) {
        fn run<R: Rule>(
            at: At<'_>,
            linear: Option<&[f64]>,
            quadratic: Option<(f64, &[f64], &[f64])>,
            out: &mut [f64],
        ) {
            dispatch(Pass::<R> { at, linear, quadratic, out, rule: std::marker::PhantomData });
        }
        match self.function {
            Activation::Tanh => run::<Tanh>(at, linear, quadratic, out),
            Activation::Sigmoid => run::<Sigmoid>(at, linear, quadratic, out),
            Activation::Softplus => run::<Softplus>(at, linear, quadratic, out),
            Activation::Gelu => run::<Gelu>(at, linear, quadratic, out),
            Activation::Silu => run::<Silu>(at, linear, quadratic, out),
            Activation::Relu => run::<Relu>(at, linear, quadratic, out),
        }
    }
}

fn map(x: &[f64], y: &mut [f64], f: impl Fn(f64) -> f64) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = f(x);
    }
}

impl Layer for ActivationLayer {
    fn output(&self) -> Shape {
        self.shape
    }

    fn is_smooth(&self) -> bool {
        self.function != Activation::Relu
    }

    fn forward(&self, _n: usize, _params: &[f64], x: &[f64], y: &mut [f64]) {
        match self.function {
            Activation::Tanh => elementwise::tanh(x, y),
            Activation::Sigmoid => elementwise::sigmoid(x, y),
            Activation::Softplus => map(x, y, softplus),
            Activation::Gelu => map(x, y, |z| z * normal(z).1),
            Activation::Silu => map(x, y, |z| z * sigmoid(z)),
            // Written so that NaN stays NaN: `max` would turn it into 0.
            Activation::Relu => map(x, y, |z| if z <= 0.0 { 0.0 } else { z }),
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
