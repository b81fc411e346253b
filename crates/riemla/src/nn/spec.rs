//! What a network looks like, as plain data that can be written to and read from files.

use serde::{Deserialize, Serialize};

use super::layer::Activation;

/// Shape of one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Shape {
    /// A vector.
    Features(usize),
    /// An image, stored channel by channel and row by row.
    Image {
        /// Number of channels.
        channels: usize,
        /// Number of rows.
        height: usize,
        /// Number of columns.
        width: usize,
    },
}

impl Shape {
    /// Numbers per sample.
    pub fn len(&self) -> usize {
        match *self {
            Shape::Features(n) => n,
            Shape::Image { channels, height, width } => channels * height * width,
        }
    }

    /// An error if the shape is larger than any memory.
    pub(super) fn check(&self) -> crate::Result<()> {
        match *self {
            Shape::Features(n) => super::network::bounded(&[n]),
            Shape::Image { channels, height, width } => super::network::bounded(&[channels, height, width]),
        }
        .map(drop)
    }

    /// Whether a sample has no numbers at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shape::Features(n) => write!(f, "{n} features"),
            Shape::Image { channels, height, width } => write!(f, "{channels}×{height}×{width} image"),
        }
    }
}

fn yes() -> bool {
    true
}

/// One layer, in the vocabulary of PyTorch's modules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LayerSpec {
    /// y = Wx + b.
    Linear {
        /// Number of outputs.
        outputs: usize,
        /// Whether there is a bias.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// Two-dimensional convolution with zero padding.
    #[serde(rename = "conv2d")]
    Conv2d {
        /// Number of output channels.
        channels: usize,
        /// Kernel height and width.
        kernel: [usize; 2],
        /// Step between windows, down and across.
        #[serde(default = "one")]
        stride: [usize; 2],
        /// Zeros added on each side, vertically and horizontally.
        #[serde(default)]
        padding: [usize; 2],
        /// Step between the inputs of neighbouring weights of the kernel.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        dilation: [usize; 2],
        /// Groups of channels: each group of outputs sees its own group of inputs.
        #[serde(default = "single", skip_serializing_if = "is_single")]
        groups: usize,
        /// Whether there is a bias.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// Mean over windows.
    AveragePool {
        /// Window height and width.
        kernel: [usize; 2],
        /// Step between windows; the window's size if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stride: Option<[usize; 2]>,
    },
    /// Maximum over windows. Not smooth where the maximum changes place.
    MaxPool {
        /// Window height and width.
        kernel: [usize; 2],
        /// Step between windows; the window's size if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stride: Option<[usize; 2]>,
    },
    /// Every sample to mean 0 and variance 1 over all its numbers, then a factor and shift for each.
    LayerNorm {
        /// Added to the variance.
        #[serde(default = "small")]
        epsilon: f64,
        /// Whether there are factors and shifts.
        #[serde(default = "yes")]
        affine: bool,
    },
    /// One factor and shift per channel or feature: batch normalisation in evaluation mode, with its means
    /// and variances merged into the two.
    Scale {
        /// Whether there is a shift.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// The sum of two branches: what `body` makes of the input, plus what `shortcut` makes of it. Their
    /// parameters are named `body.0.weight`, `shortcut.0.weight` and so on.
    Residual {
        /// Layers one after another, at least one.
        body: Vec<LayerSpec>,
        /// The other branch; the input itself if it is empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shortcut: Vec<LayerSpec>,
    },
    /// Image to vector.
    #[serde(deserialize_with = "crate::strict::no_fields")]
    Flatten,
    /// Nothing. Stands for layers that only act in training (`dropout` means the same), so that the layers
    /// after it have the numbers that they have in `torch.nn.Sequential`.
    #[serde(alias = "dropout")]
    Identity,
    /// An elementwise function.
    Activation {
        /// Which one.
        function: Activation,
    },
}

fn one() -> [usize; 2] {
    [1, 1]
}

fn is_one(pair: &[usize; 2]) -> bool {
    *pair == one()
}

fn single() -> usize {
    1
}

fn is_single(number: &usize) -> bool {
    *number == 1
}

/// PyTorch's epsilon of normalisations.
fn small() -> f64 {
    1e-5
}

/// A whole network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// Shape of one input.
    pub input: Shape,
    /// The layers, in order.
    pub layers: Vec<LayerSpec>,
}

impl NetworkSpec {
    /// A multilayer perceptron: `sizes` from input to output, the activation between layers.
    ///
    /// ```
    /// use riemla::nn::{Activation, Network, NetworkSpec};
    /// let spec = NetworkSpec::mlp(&[2, 16, 16, 2], Activation::Tanh);
    /// assert_eq!(Network::new(&spec)?.dim(), 354);
    /// # Ok::<(), riemla::Error>(())
    /// ```
    pub fn mlp(sizes: &[usize], activation: Activation) -> Self {
        let mut layers = Vec::new();
        for (i, &outputs) in sizes.iter().enumerate().skip(1) {
            if i > 1 {
                layers.push(LayerSpec::Activation { function: activation });
            }
            layers.push(LayerSpec::Linear { outputs, bias: true });
        }
        Self { input: Shape::Features(sizes.first().copied().unwrap_or(0)), layers }
    }
}
