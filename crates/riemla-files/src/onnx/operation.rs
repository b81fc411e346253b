//! What a node does, as far as it can be imported: its operator and attributes, without its inputs.

use riemla::nn::Activation;

use super::attributes::{Attributes, shown};
use super::function::{Binary, Unary};
use super::messages::{Node, Tensor, is_standard};

/// The operators that can be imported, for messages.
pub const SUPPORTED: &str = "Gemm, MatMul and Add with constant weights; Conv (2 dimensions, equal padding on both \
    sides); AveragePool, MaxPool, GlobalAveragePool and GlobalMaxPool (without padding), ReduceMean and ReduceMax \
    over height and width; BatchNormalization, LayerNormalization over a whole sample, and constants added to or \
    multiplied with channels; sums of branches; Flatten, Reshape, Squeeze, Unsqueeze and Transpose that keep the \
    batch first; tanh, sigmoid, softplus, GELU, SiLU, ReLU, leaky ReLU and ELU; Dropout, Identity and Cast; and a \
    final Softmax, LogSoftmax or Sigmoid";

/// Settings of a convolution.
#[derive(Debug, Clone, Copy)]
pub struct Convolution {
    pub kernel: Option<[usize; 2]>,
    pub stride: [usize; 2],
    pub dilation: [usize; 2],
    pub groups: usize,
    pub padding: Padding,
}

/// A node's operator with its settings.
#[derive(Debug)]
pub enum Operation<'n, 'a> {
    Gemm { alpha: f64, beta: f64, transposed: bool },
    MatMul,
    Conv(Convolution),
    Pool { maximum: bool, kernel: [usize; 2], stride: [usize; 2], padding: Padding, ceil: bool },
    GlobalPool { maximum: bool },
    Normalize { epsilon: f64 },
    NormalizeSample { epsilon: f64, axis: i64 },
    Reduce { maximum: bool, axes: Option<&'n [i64]>, keep: bool },
    Flatten { axis: i64 },
    Reshape { allow_zero: bool },
    Squeeze { axes: Option<&'n [i64]> },
    Unsqueeze { axes: Option<&'n [i64]> },
    Transpose { permutation: Option<&'n [i64]> },
    Unary(Unary),
    Binary(Binary),
    Where,
    Tensor(&'n Tensor<'a>),
    Numbers { values: Vec<f64>, scalar: bool },
    Integers { values: Vec<i64>, scalar: bool },
    Shape { start: i64, end: Option<i64> },
    Gather,
    Slice,
    Concat,
    Identity,
    Dropout,
    Cast { to: i64 },
    Probabilities { name: &'static str, axis: i64 },
}

/// How much is added around an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// So much above and below, left and right.
    Fixed([usize; 2]),
    /// As much as it takes for the output to have the size of the input divided by the stride.
    Same,
}

/// Reads a node. Problems name its attributes, not the node.
pub fn operation<'n, 'a>(node: &'n Node<'a>) -> Result<Operation<'n, 'a>, Vec<String>> {
    if !is_standard(&node.domain) {
        return Err(vec![format!("operators of domain {} cannot be imported", node.domain)]);
    }
    let mut attributes = Attributes::new(node);
    let found = layer(&node.operator, &mut attributes)
        .or_else(|| rearrangement(&node.operator, &mut attributes))
        .or_else(|| elementwise(&node.operator, &mut attributes))
        .or_else(|| arithmetic_of_shapes(&node.operator, &mut attributes));
    let Some(found) = found else {
        let mut problems = attributes.problems;
        if problems.is_empty() {
            problems.push("this operator cannot be imported".into());
        }
        return Err(problems);
    };
    let problems = attributes.finish();
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

fn layer<'n, 'a>(operator: &str, attributes: &mut Attributes<'n, 'a>) -> Option<Operation<'n, 'a>> {
    Some(match operator {
        "Gemm" => {
            attributes.only("transA", 0);
            let (alpha, beta) = (attributes.number("alpha", 1.0), attributes.number("beta", 1.0));
            Operation::Gemm { alpha, beta, transposed: attributes.integer("transB").unwrap_or(0) != 0 }
        }
        "MatMul" => Operation::MatMul,
        "Conv" => {
            let groups = attributes.integer("group").unwrap_or(1);
            let groups = usize::try_from(groups).ok().filter(|groups| *groups > 0).unwrap_or_else(|| {
                attributes.problems.push(format!("group is {groups}, a number above 0 is needed"));
                1
            });
            Operation::Conv(Convolution {
                kernel: attributes.pair("kernel_shape"),
                stride: attributes.pair("strides").unwrap_or([1, 1]),
                dilation: attributes.pair("dilations").unwrap_or([1, 1]),
                groups,
                padding: padding(attributes),
            })
        }
        "MaxPool" | "AveragePool" => pool(operator == "MaxPool", attributes),
        "GlobalMaxPool" => Operation::GlobalPool { maximum: true },
        "GlobalAveragePool" => Operation::GlobalPool { maximum: false },
        "ReduceMean" | "ReduceMax" => {
            attributes.integer("noop_with_empty_axes");
            let keep = attributes.integer("keepdims").unwrap_or(1) != 0;
            Operation::Reduce { maximum: operator == "ReduceMax", axes: attributes.integers("axes"), keep }
        }
        "BatchNormalization" => {
            attributes.only("training_mode", 0);
            attributes.number("momentum", 0.9);
            Operation::Normalize { epsilon: attributes.number("epsilon", 1e-5) }
        }
        "LayerNormalization" => {
            // Only says in which precision intermediate results are kept.
            attributes.integer("stash_type");
            let axis = attributes.integer("axis").unwrap_or(-1);
            Operation::NormalizeSample { epsilon: attributes.number("epsilon", 1e-5), axis }
        }
        "Softmax" => {
            Operation::Probabilities { name: "Softmax", axis: attributes.integer("axis").unwrap_or(-1) }
        }
        "LogSoftmax" => {
            Operation::Probabilities { name: "LogSoftmax", axis: attributes.integer("axis").unwrap_or(-1) }
        }
        _ => return None,
    })
}

fn pool<'n, 'a>(maximum: bool, attributes: &mut Attributes<'n, 'a>) -> Operation<'n, 'a> {
    attributes.all("dilations", 1);
    attributes.only("storage_order", 0);
    // Without padding there is nothing to include.
    attributes.integer("count_include_pad");
    let kernel = attributes.pair("kernel_shape").unwrap_or_else(|| {
        attributes.problems.push("kernel_shape is missing".into());
        [1, 1]
    });
    let stride = attributes.pair("strides").unwrap_or([1, 1]);
    let ceil = attributes.integer("ceil_mode").unwrap_or(0) != 0;
    let padding = padding(attributes);
    if !matches!(padding, Padding::Same | Padding::Fixed([0, 0])) {
        attributes.problems.push("pads are not 0, which pooling needs".into());
    }
    Operation::Pool { maximum, kernel, stride, padding, ceil }
}

fn padding(attributes: &mut Attributes<'_, '_>) -> Padding {
    let word = attributes.word("auto_pad", "NOTSET");
    let pads = attributes.integers("pads");
    match (word.as_str(), pads) {
        ("SAME_UPPER" | "SAME_LOWER", _) => Padding::Same,
        ("VALID", _) | ("NOTSET", None) => Padding::Fixed([0, 0]),
        ("NOTSET", Some(pads)) => {
            let sizes: Option<Vec<usize>> = pads.iter().map(|pad| usize::try_from(*pad).ok()).collect();
            match sizes.as_deref() {
                Some([top, left, bottom, right]) if top == bottom && left == right => {
                    Padding::Fixed([*top, *left])
                }
                _ => {
                    let problem = format!("pads are {}, they must be equal on both sides", shown(pads));
                    attributes.problems.push(problem);
                    Padding::Fixed([0, 0])
                }
            }
        }
        _ => {
            attributes.problems.push(format!("auto_pad is {word}"));
            Padding::Fixed([0, 0])
        }
    }
}

fn rearrangement<'n, 'a>(operator: &str, attributes: &mut Attributes<'n, 'a>) -> Option<Operation<'n, 'a>> {
    Some(match operator {
        "Flatten" => Operation::Flatten { axis: attributes.integer("axis").unwrap_or(1) },
        "Reshape" => Operation::Reshape { allow_zero: attributes.integer("allowzero").unwrap_or(0) != 0 },
        "Squeeze" => Operation::Squeeze { axes: attributes.integers("axes") },
        "Unsqueeze" => Operation::Unsqueeze { axes: attributes.integers("axes") },
        "Transpose" => Operation::Transpose { permutation: attributes.integers("perm") },
        "Identity" => Operation::Identity,
        "Dropout" => {
            attributes.number("ratio", 0.5);
            attributes.integer("seed");
            Operation::Dropout
        }
        "Cast" => {
            attributes.integer("saturate");
            attributes.word("round_mode", "up");
            Operation::Cast { to: attributes.integer("to").unwrap_or(0) }
        }
        _ => return None,
    })
}

fn elementwise<'n, 'a>(operator: &str, attributes: &mut Attributes<'n, 'a>) -> Option<Operation<'n, 'a>> {
    let known = |function| Operation::Unary(Unary::Known(function));
    Some(match operator {
        "Tanh" => known(Activation::Tanh),
        "Sigmoid" => known(Activation::Sigmoid),
        "Softplus" => known(Activation::SOFTPLUS),
        "Relu" => known(Activation::Relu),
        "LeakyRelu" => known(Activation::LeakyRelu { slope: attributes.number("alpha", 0.01) }),
        "Elu" => known(Activation::Elu { alpha: attributes.number("alpha", 1.0) }),
        "Gelu" => match attributes.word("approximate", "none").as_str() {
            "none" => known(Activation::Gelu),
            "tanh" => known(Activation::GeluTanh),
            other => {
                attributes.problems.push(format!("approximate is {other}, neither none nor tanh"));
                known(Activation::Gelu)
            }
        },
        "Swish" => Operation::Unary(Unary::Swish(attributes.number("alpha", 1.0))),
        "Erf" => Operation::Unary(Unary::Erf),
        "Erfc" => Operation::Unary(Unary::Erfc),
        "Exp" => Operation::Unary(Unary::Exp),
        "Log" => Operation::Unary(Unary::Log),
        "Neg" => Operation::Unary(Unary::Neg),
        "Add" => Operation::Binary(Binary::Add),
        "Sub" => Operation::Binary(Binary::Subtract),
        "Mul" => Operation::Binary(Binary::Multiply),
        "Div" => Operation::Binary(Binary::Divide),
        "Pow" => Operation::Binary(Binary::Power),
        "Greater" => Operation::Binary(Binary::Greater),
        "GreaterOrEqual" => Operation::Binary(Binary::GreaterOrEqual),
        "Less" => Operation::Binary(Binary::Less),
        "LessOrEqual" => Operation::Binary(Binary::LessOrEqual),
        "Where" => Operation::Where,
        _ => return None,
    })
}

/// What exporters need to flatten with a batch of any size.
fn arithmetic_of_shapes<'n, 'a>(
    operator: &str,
    attributes: &mut Attributes<'n, 'a>,
) -> Option<Operation<'n, 'a>> {
    Some(match operator {
        "Constant" => return constant(attributes),
        "Shape" => Operation::Shape {
            start: attributes.integer("start").unwrap_or(0),
            end: attributes.integer("end"),
        },
        "Gather" => {
            first_axis(attributes);
            Operation::Gather
        }
        "Slice" => Operation::Slice,
        "Concat" => {
            first_axis(attributes);
            Operation::Concat
        }
        _ => return None,
    })
}

fn first_axis(attributes: &mut Attributes<'_, '_>) {
    let axis = attributes.integer("axis").unwrap_or(0);
    if !matches!(axis, 0 | -1) {
        attributes
            .problems
            .push(format!("axis is {axis}; shapes can be taken apart and joined, data cannot"));
    }
}

fn constant<'n, 'a>(attributes: &mut Attributes<'n, 'a>) -> Option<Operation<'n, 'a>> {
    let integers = |values: Vec<i64>, scalar| Operation::Integers { values, scalar };
    let numbers = |values: Vec<f64>, scalar| Operation::Numbers { values, scalar };
    if attributes.has("value_int") {
        attributes.integer("value_int").map(|value| integers(vec![value], true))
    } else if attributes.has("value_ints") {
        attributes.integers("value_ints").map(|values| integers(values.to_vec(), false))
    } else if attributes.has("value_float") {
        Some(numbers(vec![attributes.number("value_float", 0.0)], true))
    } else if attributes.has("value_floats") {
        let values = attributes.numbers("value_floats")?;
        Some(numbers(values.iter().map(|value| f64::from(*value)).collect(), false))
    } else {
        attributes.tensor("value").map(Operation::Tensor)
    }
}
