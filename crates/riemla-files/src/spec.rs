//! Networks described by a file: sizes are checked before anything is built from them.

use riemla::nn::{LayerSpec, Network, NetworkSpec, Shape};

use crate::{Error, Result};

/// Largest number of weights, or of numbers between two layers, that a file may ask for.
const MAX_NUMBERS: f64 = (1u64 << 32) as f64;

/// Builds the network of a description that comes from a file.
pub(crate) fn network(file: &str, spec: &NetworkSpec) -> Result<Network> {
    if let Some(layer) = first_too_large(spec) {
        let requirement = format!("such that no layer has more than {MAX_NUMBERS} weights or outputs");
        return Err(Error::content(file)(riemla::Error::range("layer of the network", layer, requirement)));
    }
    Network::new(spec).map_err(Error::content(file))
}

/// The first layer that is too large to be built. Upper bounds in floating point, which cannot
/// overflow.
fn first_too_large(spec: &NetworkSpec) -> Option<usize> {
    let mut size = match spec.input {
        Shape::Features(n) => [n as f64, 1.0, 1.0],
        Shape::Image { channels, height, width } => [channels as f64, height as f64, width as f64],
    };
    let large = |size: [f64; 3]| size.iter().product::<f64>() > MAX_NUMBERS;
    if large(size) {
        return Some(0);
    }
    let mut total = 0.0;
    for (index, layer) in spec.layers.iter().enumerate() {
        match layer {
            LayerSpec::Linear { outputs, .. } => {
                total += (size.iter().product::<f64>() + 1.0) * *outputs as f64;
                size = [*outputs as f64, 1.0, 1.0];
            }
            LayerSpec::Conv2d { channels, kernel, stride, padding, .. } => {
                let window = kernel[0] as f64 * kernel[1] as f64;
                total += (size[0] * window + 1.0) * *channels as f64;
                let sides = [size[1] + 2.0 * padding[0] as f64, size[2] + 2.0 * padding[1] as f64];
                size = [*channels as f64, sides[0], sides[1]];
                if stride.iter().any(|stride| *stride as f64 > MAX_NUMBERS) {
                    return Some(index);
                }
            }
            LayerSpec::AveragePool { kernel, stride } | LayerSpec::MaxPool { kernel, stride } => {
                let numbers = kernel.iter().chain(stride.iter().flatten());
                if numbers.into_iter().any(|number| *number as f64 > MAX_NUMBERS) {
                    return Some(index);
                }
            }
            LayerSpec::Flatten | LayerSpec::Activation { .. } => {}
        }
        if total > MAX_NUMBERS || large(size) {
            return Some(index);
        }
    }
    None
}
