//! Networks: layers over one flat parameter vector, and their derivatives.
//!
//! A [`Network`] owns no parameters. Its passes work on one block of samples with *samples
//! contiguous* (see [`crate::linalg`]) and on caller-owned buffers ([`Trace`], [`Adjoint`]):
//! values, directional derivatives of first and second order (Taylor mode), the transposed
//! derivative, its tangent (for Hessian-vector products) and per-sample gradients.

mod arithmetic;
mod batch;
mod buffers;
mod graph;
mod layer;
mod network;
mod passes;
mod spec;
mod storage;

pub use arithmetic::Arithmetic;
pub use batch::{pack, unpack};
pub use buffers::{Adjoint, Trace};
pub use layer::Activation;
#[cfg(test)]
pub(crate) use layer::InPlace;
pub(crate) use layer::{At, Layer, Patch, Positions};
pub use network::{Network, Parameter};
pub use passes::{Adjoints, Along};
pub use spec::{LayerSpec, NetworkSpec, Shape};
