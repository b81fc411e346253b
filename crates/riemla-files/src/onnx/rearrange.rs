//! Operations that move numbers or change each on its own: no layer comes of them by itself.

use super::apply::State;
use super::chain::Data;
use super::constant::Constant;
use super::function::{self, Binary, Found, Samples, Unary};
use super::layout::{self, Axis};
use super::values::{self, Known, position};
use super::{Problem, Result};

fn unsupported<T>(problem: impl Into<String>) -> Result<T> {
    Err(Problem::Unsupported(problem.into()))
}

impl State {
    pub(super) fn unary(&mut self, function: Unary, data: &Data) -> Result<Known> {
        self.chain.check(data)?;
        // A function of an activation: that one is complete.
        let settled;
        let data = if matches!(function::find(&data.samples), Found::Activation(_)) {
            settled = self.chain.settle(data)?;
            &settled
        } else {
            data
        };
        Ok(Known::Data(Data { samples: function.after(&data.samples), ..data.clone() }))
    }

    pub(super) fn binary(&mut self, function: Binary, a: &Known, b: &Known) -> Result<Known> {
        let made = match (a, b) {
            (Known::Data(data), Known::Constant(constant)) => {
                self.chain.with_channels(function, data, constant, false)?
            }
            (Known::Constant(constant), Known::Data(data)) => {
                self.chain.with_channels(function, data, constant, true)?
            }
            (Known::Data(a), Known::Data(b)) => self.branches(function, a, b)?,
            (Known::Data(_), _) | (_, Known::Data(_)) => None,
            _ => return values::compute(function, a, b),
        };
        if let Some(data) = made {
            return Ok(Known::Data(data));
        }
        let (data, [a, b]) = self.together([a, b])?;
        Ok(Known::Data(Data { samples: function.of(&a, &b), ..data }))
    }

    /// The sum or difference of two branches; none if both are functions of one tensor that amount to one.
    fn branches(&mut self, function: Binary, a: &Data, b: &Data) -> Result<Option<Data>> {
        self.chain.check(a)?;
        self.chain.check(b)?;
        let known = |samples: &[f64]| function::find(samples) != Found::Unknown;
        let one = a.from == b.from
            && !(known(&a.samples) && known(&b.samples) && !known(&function.of(&a.samples, &b.samples)));
        let negated;
        let b = match function {
            Binary::Add | Binary::Subtract if one => return Ok(None),
            Binary::Add => b,
            Binary::Subtract => {
                negated = Data { samples: Unary::Neg.after(&b.samples), ..b.clone() };
                &negated
            }
            _ if a.from == b.from => return Ok(None),
            _ => return unsupported("it combines two branches; only sums of branches can be imported"),
        };
        self.chain.sum(a, b).map(Some)
    }

    pub(super) fn choose(&mut self, condition: &Known, yes: &Known, no: &Known) -> Result<Known> {
        let (data, [condition, yes, no]) = self.together([condition, yes, no])?;
        let both = condition.iter().zip(yes.iter().zip(&no));
        let samples = both.map(|(c, (yes, no))| if *c != 0.0 { *yes } else { *no }).collect();
        Ok(Known::Data(Data { samples, ..data }))
    }

    /// The functions of several operands that have one tensor in common, and that tensor.
    fn together<const N: usize>(&self, operands: [&Known; N]) -> Result<(Data, [Samples; N])> {
        let mut shared: Option<&Data> = None;
        for operand in operands {
            let Known::Data(data) = operand else { continue };
            self.chain.check(data)?;
            if shared.is_some_and(|shared| shared.axes != data.axes) {
                return unsupported("its inputs have different shapes");
            }
            if shared.is_some_and(|shared| shared.from != data.from) {
                return unsupported("it combines two branches; only sums of branches can be imported");
            }
            shared = Some(data);
        }
        let Some(shared) = shared else { return unsupported("none of its inputs depends on the network's") };
        let rank = shared.axes.len() + 1;
        let mut samples = [const { Vec::new() }; N];
        for (samples, operand) in samples.iter_mut().zip(operands) {
            *samples = match operand {
                Known::Data(data) => data.samples.clone(),
                Known::Constant(constant) if constant.dims.len() <= rank => match constant.scalar() {
                    Some(value) => function::constant(value),
                    None => return unsupported(no_bias(constant)),
                },
                _ => return unsupported("one of its inputs is not a single number"),
            };
        }
        Ok((shared.clone(), samples))
    }

    pub(super) fn flatten(&mut self, data: &Data, axis: i64) -> Result<Known> {
        self.chain.check(data)?;
        let rank = data.axes.len() + 1;
        if axis != 1 && position(axis, rank) != Some(1) {
            return unsupported(format!("axis is {axis}, only 1 keeps the batch"));
        }
        let count = layout::sizes(&data.axes).iter().product();
        self.rearranged(data, layout::reshape(&data.axes, &[count]))
    }

    fn rearranged(&self, data: &Data, axes: Option<Vec<Axis>>) -> Result<Known> {
        match axes {
            Some(axes) => Ok(Known::Data(Data { axes, ..data.clone() })),
            None => unsupported("it cuts an axis that was transposed before"),
        }
    }

    pub(super) fn reshape(
        &mut self,
        known: &Known,
        target: &[Option<i64>],
        allow_zero: bool,
    ) -> Result<Known> {
        match known {
            Known::Data(data) => {
                self.chain.check(data)?;
                let present = layout::sizes(&data.axes);
                let dims = values::target_dims(target, &present, self.batch, allow_zero)?;
                self.rearranged(data, layout::reshape(&data.axes, &dims))
            }
            Known::Sizes(_) => Ok(known.clone()),
            Known::Constant(constant) => {
                // With an axis of size 1 in front, the rule for data applies.
                let target: Vec<Option<i64>> = std::iter::once(None).chain(target.iter().copied()).collect();
                let dims = values::target_dims(&target, &constant.dims, None, allow_zero)?;
                Ok(Known::Constant(constant.reshaped(dims)))
            }
        }
    }

    pub(super) fn squeeze(&mut self, known: &Known, axes: Option<Vec<i64>>) -> Result<Known> {
        let (present, first) = dims_of(known);
        let Some(present) = present else { return Ok(known.clone()) };
        let rank = present.len() + first;
        let drop = |i: usize| match &axes {
            None => present[i] == 1,
            Some(axes) => axes.iter().any(|axis| position(*axis, rank) == Some(i + first)),
        };
        let wrong = (0..present.len()).find(|i| drop(*i) && present[*i] != 1);
        let batch = axes.iter().flatten().any(|axis| position(*axis, rank).is_none_or(|axis| axis < first));
        if wrong.is_some() || batch {
            return unsupported(format!("it removes an axis of {present:?} that is not 1, or the batch"));
        }
        let dims = (0..present.len()).filter(|i| !drop(*i)).map(|i| present[i]).collect::<Vec<_>>();
        self.with_dims(known, dims)
    }

    pub(super) fn unsqueeze(&mut self, known: &Known, axes: Option<Vec<i64>>) -> Result<Known> {
        let (present, first) = dims_of(known);
        let Some(mut dims) = present else { return Ok(known.clone()) };
        let axes = axes.unwrap_or_default();
        if axes.len() > 8 {
            return unsupported("it adds more than 8 axes");
        }
        let rank = dims.len() + first + axes.len();
        let mut places: Vec<Option<usize>> = axes.iter().map(|axis| position(*axis, rank)).collect();
        places.sort_unstable();
        for place in places {
            let place = place.and_then(|place| place.checked_sub(first)).filter(|place| *place <= dims.len());
            let Some(place) = place else { return unsupported("it adds an axis before the batch") };
            dims.insert(place, 1);
        }
        self.with_dims(known, dims)
    }

    fn with_dims(&self, known: &Known, dims: Vec<usize>) -> Result<Known> {
        match known {
            Known::Data(data) => {
                self.chain.check(data)?;
                self.rearranged(data, layout::reshape(&data.axes, &dims))
            }
            Known::Constant(constant) => Ok(Known::Constant(constant.reshaped(dims))),
            Known::Sizes(_) => Ok(known.clone()),
        }
    }

    pub(super) fn transpose(&mut self, known: &Known, permutation: Option<&[i64]>) -> Result<Known> {
        let (present, first) = dims_of(known);
        let Some(present) = present else { return unsupported("it transposes a shape") };
        let rank = present.len() + first;
        let reversed: Vec<i64> = (0..rank as i64).rev().collect();
        let permutation = permutation.unwrap_or(&reversed);
        let places: Option<Vec<usize>> = permutation.iter().map(|axis| position(*axis, rank)).collect();
        let mut sorted = places.clone().unwrap_or_default();
        sorted.sort_unstable();
        let places = places.filter(|_| sorted.iter().copied().eq(0..rank));
        let Some(places) = places else {
            let shown = super::attributes::shown(permutation);
            return Err(Problem::Invalid(format!("perm {shown} is no order of {rank} axes")));
        };
        match known {
            Known::Constant(constant) => constant.transposed(&places, &mut self.supply).map(Known::Constant),
            Known::Data(_) if places[0] != 0 => unsupported("it moves the batch"),
            Known::Data(data) => {
                self.chain.check(data)?;
                let axes = places[1..].iter().map(|place| data.axes[place - 1].clone()).collect();
                self.rearranged(data, Some(axes))
            }
            Known::Sizes(_) => Ok(known.clone()),
        }
    }

    /// A final Softmax or LogSoftmax over the features.
    pub(super) fn probabilities(&mut self, data: &Data, name: &'static str, axis: i64) -> Result<Known> {
        self.chain.check(data)?;
        if data.axes.len() != 1 || !matches!(axis, 1 | -1) {
            return unsupported(format!("{name} along axis {axis} is not over the outputs of a sample"));
        }
        Ok(Known::Data(Data { ending: Some(name), ..data.clone() }))
    }
}

fn no_bias(constant: &Constant) -> String {
    let Constant { origin, dims, .. } = constant;
    format!(
        "the constant `{origin}` of dimensions {dims:?} is neither a bias of the layer before nor a number"
    )
}

/// Dimensions without the batch, and the number of axes for the batch; none for shapes.
fn dims_of(known: &Known) -> (Option<Vec<usize>>, usize) {
    match known {
        Known::Data(data) => (Some(layout::sizes(&data.axes)), 1),
        Known::Constant(constant) => (Some(constant.dims.clone()), 0),
        Known::Sizes(_) => (None, 0),
    }
}
