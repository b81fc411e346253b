//! What each operation does to the chain of layers, to shapes and to constants.

use super::chain::{Chain, Data};
use super::constant::{Constant, Supply};
use super::layout;
use super::operation::Operation;
use super::values::{self, Known};
use super::{Problem, Result};

/// Everything an operation can change.
pub struct State {
    pub chain: Chain,
    pub supply: Supply,
    /// Size of the batch, if the model fixes it.
    pub batch: Option<i64>,
}

fn unsupported<T>(problem: impl Into<String>) -> Result<T> {
    Err(Problem::Unsupported(problem.into()))
}

/// Input number `i`, which must be there.
fn needed<'k>(inputs: &[Option<&'k Known>], i: usize) -> Result<&'k Known> {
    let input = inputs.get(i).copied().flatten();
    input.ok_or_else(|| Problem::Invalid(format!("its input number {i} is missing")))
}

impl State {
    /// The output of an operation.
    pub fn apply(&mut self, operation: &Operation<'_, '_>, inputs: &[Option<&Known>]) -> Result<Known> {
        let first = || needed(inputs, 0);
        let second = inputs.get(1).copied().flatten();
        Ok(match operation {
            Operation::Tensor(tensor) => Known::Constant(Constant::decode(tensor, &mut self.supply)?),
            Operation::Numbers { values, scalar } => {
                let dims = if *scalar { vec![] } else { vec![values.len()] };
                Known::Constant(Constant::real("constant", dims, values.clone()))
            }
            Operation::Integers { values, scalar } => {
                let dims = if *scalar { vec![] } else { vec![values.len()] };
                Known::Constant(Constant::integer("constant", dims, values.clone()))
            }
            Operation::Identity => first()?.clone(),
            Operation::Dropout => dropout(inputs)?,
            Operation::Cast { to } => first()?.cast(*to, &mut self.supply)?,
            Operation::Shape { start, end } => shape_of(first()?, *start, *end),
            Operation::Gather => values::gather(&first()?.sizes()?, &needed(inputs, 1)?.integers()?)?,
            Operation::Slice => slice(inputs)?,
            Operation::Concat => {
                let lists: Vec<&Known> = inputs.iter().copied().flatten().collect();
                values::concat(&lists)?
            }
            Operation::Unary(function) => self.unary(*function, first()?.data()?)?,
            Operation::Binary(function) => self.binary(*function, first()?, needed(inputs, 1)?)?,
            Operation::Where => {
                let [condition, yes, no] = [first()?, needed(inputs, 1)?, needed(inputs, 2)?];
                self.choose(condition, yes, no)?
            }
            Operation::Flatten { axis } => self.flatten(first()?.data()?, *axis)?,
            Operation::Reshape { allow_zero } => {
                self.reshape(first()?, &needed(inputs, 1)?.sizes()?, *allow_zero)?
            }
            Operation::Squeeze { axes } => self.squeeze(first()?, axes_of(*axes, second)?)?,
            Operation::Unsqueeze { axes } => self.unsqueeze(first()?, axes_of(*axes, second)?)?,
            Operation::Transpose { permutation } => self.transpose(first()?, *permutation)?,
            Operation::Probabilities { name, axis } => self.probabilities(first()?.data()?, name, *axis)?,
            _ => Known::Data(self.layer(operation, inputs)?),
        })
    }

    fn layer(&mut self, operation: &Operation<'_, '_>, inputs: &[Option<&Known>]) -> Result<Data> {
        let data = needed(inputs, 0)?.data()?;
        self.chain.check(data)?;
        match operation {
            Operation::Gemm { alpha, beta, transposed } => {
                let weights = needed(inputs, 1)?.constant()?;
                let bias = inputs.get(2).copied().flatten().map(Known::constant).transpose()?;
                self.gemm(data, weights, bias, (*alpha, *beta, *transposed))
            }
            Operation::MatMul => {
                let weights = needed(inputs, 1)?.constant()?;
                self.gemm(data, weights, None, (1.0, 1.0, false))
            }
            Operation::Conv(settings) => {
                let weights = needed(inputs, 1)?.constant()?;
                let bias = inputs.get(2).copied().flatten().map(Known::constant).transpose()?;
                self.convolution(data, weights, bias, *settings)
            }
            Operation::Pool { maximum, kernel, stride, padding, ceil } => {
                self.pool(data, *maximum, (*kernel, *stride, *padding, *ceil))
            }
            Operation::GlobalPool { maximum } => {
                let &[_, height, width] = layout::sizes(&data.axes).as_slice() else {
                    return unsupported("its input is not an image");
                };
                self.pool_all(data, *maximum, [height, width])
            }
            Operation::Reduce { maximum, axes, keep } => {
                let axes = axes_of(*axes, inputs.get(1).copied().flatten())?;
                self.reduce(data, *maximum, axes.as_deref(), *keep)
            }
            Operation::Normalize { epsilon } => {
                let part = |i: usize| needed(inputs, i)?.constant();
                self.chain.normalize(data, [part(1)?, part(2)?, part(3)?, part(4)?], *epsilon)
            }
            Operation::NormalizeSample { epsilon, axis } => {
                let rank = data.axes.len() + 1;
                if values::position(*axis, rank) != Some(1) {
                    return unsupported(format!("axis is {axis}: only whole samples can be normalised"));
                }
                let shifts = inputs.get(2).copied().flatten().map(Known::constant).transpose()?;
                self.chain.normalize_sample(data, *epsilon, needed(inputs, 1)?.constant()?, shifts)
            }
            _ => unsupported("this operator cannot be imported"),
        }
    }

    /// alpha·x·W + beta·b, W of shape (inputs, outputs), or the other way round if `transposed`.
    fn gemm(
        &mut self,
        data: &Data,
        weights: &Constant,
        bias: Option<&Constant>,
        (alpha, beta, transposed): (f64, f64, bool),
    ) -> Result<Data> {
        if weights.dims.len() != 2 {
            return unsupported(format!("`{}` has dimensions {:?}, not 2", weights.origin, weights.dims));
        }
        let weights =
            if transposed { weights.clone() } else { weights.transposed(&[1, 0], &mut self.supply)? };
        let weights = if alpha == 1.0 { weights } else { weights.scaled(alpha, &mut self.supply)? };
        let bias = bias.map(|bias| self.bias(bias, weights.dims[0], beta)).transpose()?;
        self.supply.take(weights.reals()?.len())?;
        self.chain.linear(data, &weights, bias)
    }

    /// The numbers of a bias for so many outputs; one number may stand for all.
    pub(super) fn bias(&mut self, bias: &Constant, outputs: usize, scale: f64) -> Result<Vec<f64>> {
        let row = bias.dims.split_last().is_none_or(|(_, before)| before.iter().all(|dim| *dim == 1));
        let values = bias.reals()?;
        self.supply.take(outputs)?;
        self.chain.note_use(bias);
        match values {
            [value] => Ok(vec![scale * value; outputs]),
            _ if row && values.len() == outputs => Ok(values.iter().map(|value| scale * value).collect()),
            _ => Err(Problem::Invalid(format!(
                "bias `{}` has dimensions {:?} for {outputs} outputs",
                bias.origin, bias.dims
            ))),
        }
    }
}

/// Axes from an attribute (before opset 13) or an input.
fn axes_of(attribute: Option<&[i64]>, input: Option<&Known>) -> Result<Option<Vec<i64>>> {
    match (attribute, input) {
        (Some(axes), _) => Ok(Some(axes.to_vec())),
        (None, Some(axes)) => axes.integers().map(Some),
        (None, None) => Ok(None),
    }
}

/// Dropout does nothing, unless it is told to drop.
fn dropout(inputs: &[Option<&Known>]) -> Result<Known> {
    let training = inputs.get(2).copied().flatten();
    if training.is_some_and(|known| known.constant().map_or(true, |flag| flag.scalar() != Some(0.0))) {
        return unsupported("it is in training mode; export the model in evaluation mode");
    }
    needed(inputs, 0).cloned()
}

fn shape_of(known: &Known, start: i64, end: Option<i64>) -> Known {
    let size = |size: &usize| i64::try_from(*size).ok();
    let sizes: Vec<Option<i64>> = match known {
        Known::Data(data) => {
            std::iter::once(None).chain(layout::sizes(&data.axes).iter().map(size)).collect()
        }
        Known::Constant(constant) => constant.dims.iter().map(size).collect(),
        Known::Sizes(sizes) => vec![size(&sizes.len())],
    };
    values::slice(&sizes, start, end.unwrap_or(i64::MAX))
}

fn slice(inputs: &[Option<&Known>]) -> Result<Known> {
    let one = |i: usize, default: i64| match inputs.get(i).copied().flatten() {
        None => Ok(default),
        Some(known) => match known.integers()?.as_slice() {
            [value] => Ok(*value),
            _ => unsupported("it cuts along several axes"),
        },
    };
    let (axis, step) = (one(3, 0)?, one(4, 1)?);
    if !matches!(axis, 0 | -1) || step != 1 {
        return unsupported(format!("axis {axis} with step {step}; only shapes can be cut"));
    }
    Ok(values::slice(&needed(inputs, 0)?.sizes()?, one(1, 0)?, one(2, i64::MAX)?))
}
