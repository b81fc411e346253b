//! The contract of a layer, one file per kind.

mod activation;
mod affine;
mod conv2d;
mod identity;
mod linear;
mod normalize;
mod pool;
mod scale;

pub use activation::{Activation, ActivationLayer};
pub use conv2d::{Conv2d, Conv2dSettings};
pub use identity::Identity;
pub use linear::Linear;
pub use normalize::LayerNorm;
pub use pool::{AveragePool, MaxPool};
pub use scale::Scale;

use super::arithmetic::Arithmetic;
use super::spec::{LayerSpec, Shape};
use crate::Result;

/// Where a layer is differentiated: parameters, input block and the output they give.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// Number of samples in the block.
    pub n: usize,
    /// The layer's parameters.
    pub params: &'a [f64],
    /// Input block, features × n.
    pub x: &'a [f64],
    /// Output block, features × n.
    pub y: &'a [f64],
}

/// A differentiable map from an input block and a parameter slice to an output block.
///
/// A layer owns no parameters. `None` for an input tangent means zero. Forward methods overwrite
/// their output; `gradient` arguments are accumulated into, input adjoints overwritten.
/// Law ([`crate::testing::check_layer`]): ⟨u, Jv⟩ = ⟨Jᵀu, v⟩, and all derivatives agree with finite
/// differences.
pub trait Layer: Send + Sync + std::fmt::Debug {
    /// Shape of one output sample.
    fn output(&self) -> Shape;

    /// Suffix and dimensions of each parameter tensor, in PyTorch's order; none by default.
    fn parameters(&self) -> Vec<(&'static str, Vec<usize>)> {
        Vec::new()
    }

    /// Number of inputs each output depends on through parameters: scales the initialisation.
    fn fan_in(&self) -> usize {
        0
    }

    /// Whether the derivative of the layer is continuous.
    fn is_smooth(&self) -> bool {
        true
    }

    /// The output.
    fn forward(&self, n: usize, params: &[f64], x: &[f64], y: &mut [f64]);

    /// Whether the output can be written over the input.
    fn in_place(&self) -> InPlace {
        InPlace::No
    }

    /// The output, written over the input; only called where [`Layer::in_place`] allows it.
    fn forward_in_place(&self, _n: usize, _params: &[f64], _y: &mut [f64]) {}

    /// Whether derivatives read the output.
    fn needs_output(&self) -> bool {
        true
    }

    /// First derivative of the output along (direction, dx).
    fn tangent(&self, at: At<'_>, direction: &[f64], dx: Option<&[f64]>, dy: &mut [f64]);

    /// Second Taylor coefficient of the output (half its second derivative) along the curve
    /// with parameters params + t·direction and input x + t·dx + t²·d2x.
    fn second(&self, at: At<'_>, direction: &[f64], dx: Option<&[f64]>, d2x: Option<&[f64]>, d2y: &mut [f64]);

    /// The transposed derivative: adds to the parameter gradient and writes the input adjoint,
    /// each only where asked for.
    fn backward(
        &self,
        at: At<'_>,
        y_adjoint: &[f64],
        x_adjoint: Option<&mut [f64]>,
        gradient: Option<&mut [f64]>,
    );

    /// Derivative of [`Layer::backward`] along (direction, dx) and `dy_adjoint`.
    #[allow(clippy::too_many_arguments)] // each is one block of the tangent of the reverse pass
    fn backward_tangent(
        &self,
        at: At<'_>,
        direction: &[f64],
        dx: Option<&[f64]>,
        y_adjoint: &[f64],
        dy_adjoint: &[f64],
        dx_adjoint: Option<&mut [f64]>,
        d_gradient: &mut [f64],
    );

    /// Parameter gradient of each sample on its own: parameter `k` of sample `i` goes to
    /// `out[k*n + i]`.
    fn per_sample_gradient(&self, _at: At<'_>, _y_adjoint: &[f64], _out: &mut [f64]) {}

    /// Where linear maps are applied, for layers that do just that: at each position t and for each
    /// group they compute y_t = W·p_t + b from a patch p_t of the input, with W the group's rows of the
    /// first parameter tensor, and b of the second, if any. None for other layers.
    fn positions(&self) -> Option<Positions> {
        None
    }

    /// Writes a patch of every sample, [`Layer::fan_in`] × n.
    fn patch(&self, _n: usize, _x: &[f64], _patch: Patch, _out: &mut [f64]) {}

    /// What the parameters are before training, if that is not random.
    fn start(&self) -> Option<Vec<f64>> {
        None
    }
}

/// What a layer that overwrites its input can still do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlace {
    /// It cannot overwrite its input.
    No,
    /// Values; derivatives need the input.
    Values,
    /// Values and derivatives, which need the output alone: it stands in for the input.
    Derivatives,
}

/// How often a layer applies its linear maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Positions {
    /// Positions of each map.
    pub count: usize,
    /// Maps, each with its share of the outputs.
    pub groups: usize,
}

/// Which part of a layer's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch {
    /// The linear map.
    pub group: usize,
    /// Where it is applied.
    pub position: usize,
}

/// Builds the layer that `spec` describes for inputs of the given shape; none for sums of branches, which
/// are no single layer.
pub(super) fn build(
    spec: &LayerSpec,
    input: Shape,
    arithmetic: Arithmetic,
) -> Result<Option<Box<dyn Layer>>> {
    Ok(Some(match *spec {
        LayerSpec::Linear { outputs, bias } => Box::new(Linear::new(input, outputs, bias, arithmetic)?),
        LayerSpec::Conv2d { channels, kernel, stride, padding, dilation, groups, bias } => {
            let settings = Conv2dSettings { channels, kernel, stride, padding, dilation, groups, bias };
            Box::new(Conv2d::new(input, settings)?)
        }
        LayerSpec::AveragePool { kernel, stride } => Box::new(AveragePool::new(input, kernel, stride)?),
        LayerSpec::MaxPool { kernel, stride } => Box::new(MaxPool::new(input, kernel, stride)?),
        LayerSpec::LayerNorm { epsilon, affine } => Box::new(LayerNorm::new(input, epsilon, affine)?),
        LayerSpec::Scale { bias } => Box::new(Scale::new(input, bias)),
        LayerSpec::Flatten => Box::new(Identity::flatten(input)),
        LayerSpec::Identity => Box::new(Identity::new(input)),
        LayerSpec::Activation { function } => Box::new(ActivationLayer::new(function, input)?),
        LayerSpec::Residual { .. } => return Ok(None),
    }))
}
