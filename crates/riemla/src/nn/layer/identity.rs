//! Nothing happens to the numbers: image to vector (images are stored flat already), and layers that only
//! act in training, such as dropout.

use super::{At, InPlace, Layer, Shape};

/// Passes its input on, perhaps under another shape.
#[derive(Debug)]
pub struct Identity {
    output: Shape,
}

impl Identity {
    /// Keeps the shape.
    pub fn new(input: Shape) -> Self {
        Self { output: input }
    }

    /// Forgets the image shape.
    pub fn flatten(input: Shape) -> Self {
        Self { output: Shape::Features(input.len()) }
    }
}

fn copy_or_zero(from: Option<&[f64]>, to: &mut [f64]) {
    match from {
        Some(values) => to.copy_from_slice(values),
        None => to.fill(0.0),
    }
}

impl Layer for Identity {
    fn output(&self) -> Shape {
        self.output
    }

    fn forward(&self, _n: usize, _params: &[f64], x: &[f64], y: &mut [f64]) {
        y.copy_from_slice(x);
    }

    fn in_place(&self) -> InPlace {
        InPlace::Derivatives
    }

    fn needs_output(&self) -> bool {
        false
    }

    fn tangent(&self, _at: At<'_>, _direction: &[f64], dx: Option<&[f64]>, dy: &mut [f64]) {
        copy_or_zero(dx, dy);
    }

    fn second(
        &self,
        _at: At<'_>,
        _direction: &[f64],
        _dx: Option<&[f64]>,
        d2x: Option<&[f64]>,
        d2y: &mut [f64],
    ) {
        copy_or_zero(d2x, d2y);
    }

    fn backward(
        &self,
        _at: At<'_>,
        y_adjoint: &[f64],
        x_adjoint: Option<&mut [f64]>,
        _gradient: Option<&mut [f64]>,
    ) {
        if let Some(x_adjoint) = x_adjoint {
            x_adjoint.copy_from_slice(y_adjoint);
        }
    }

    fn backward_tangent(
        &self,
        _at: At<'_>,
        _direction: &[f64],
        _dx: Option<&[f64]>,
        _y_adjoint: &[f64],
        dy_adjoint: &[f64],
        dx_adjoint: Option<&mut [f64]>,
        _d_gradient: &mut [f64],
    ) {
        if let Some(dx_adjoint) = dx_adjoint {
            dx_adjoint.copy_from_slice(dy_adjoint);
        }
    }
}
