//! Passes of a network over one block of samples, on caller-owned buffers.

use std::ops::Range;

use super::layer::At;
use super::network::Network;

/// One Taylor coefficient of every layer's output: values, tangents or second coefficients.
#[derive(Debug, Clone)]
pub struct Trace {
    n: usize,
    widths: Vec<usize>,
    outputs: Vec<Vec<f64>>,
}

impl Trace {
    /// Buffers for `n` samples of the network.
    pub fn new(network: &Network, n: usize) -> Self {
        let widths: Vec<usize> = network.layers.iter().map(|layer| layer.output().len()).collect();
        let outputs = widths.iter().map(|width| vec![0.0; width * n]).collect();
        Self { n, widths, outputs }
    }

    /// Changes the number of samples; allocates only beyond the largest number so far.
    pub fn resize(&mut self, n: usize) {
        self.n = n;
        for (output, width) in self.outputs.iter_mut().zip(&self.widths) {
            output.resize(width * n, 0.0);
        }
    }

    /// Number of samples.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The network's output, outputs × n with samples contiguous.
    pub fn output(&self) -> &[f64] {
        self.outputs.last().map_or(&[], |v| v)
    }

    /// Input of layer `l`, given the network's input.
    fn input<'a>(&'a self, l: usize, x: &'a [f64]) -> &'a [f64] {
        if l == 0 { x } else { &self.outputs[l - 1] }
    }
}

/// Buffers of a reverse pass: the adjoint of one layer's output and of its input.
#[derive(Debug, Clone)]
pub struct Adjoint {
    above: Vec<f64>,
    below: Vec<f64>,
}

impl Adjoint {
    /// Buffers for `n` samples of the network.
    pub fn new(network: &Network, n: usize) -> Self {
        let widest = network.layers.iter().map(|layer| layer.output().len()).max().unwrap_or(0) * n;
        Self { above: vec![0.0; widest], below: vec![0.0; widest] }
    }

    /// The seed of the pass: adjoint of the network's output, outputs × n. It is used up.
    pub fn seed(&mut self, network: &Network, n: usize) -> &mut [f64] {
        &mut self.above[..network.outputs() * n]
    }

    fn step_down(&mut self) {
        std::mem::swap(&mut self.above, &mut self.below);
    }
}

impl Network {
    fn at<'a>(&self, l: usize, theta: &'a [f64], x: &'a [f64], values: &'a Trace) -> At<'a> {
        At {
            n: values.n,
            params: &theta[self.ranges[l].clone()],
            x: values.input(l, x),
            y: &values.outputs[l],
        }
    }

    /// Values of all layers for the input block `x`.
    pub fn forward(&self, theta: &[f64], x: &[f64], values: &mut Trace) {
        for (l, layer) in self.layers.iter().enumerate() {
            let (done, rest) = values.outputs.split_at_mut(l);
            let input = done.last().map_or(x, |v| v.as_slice());
            layer.forward(values.n, &theta[self.ranges[l].clone()], input, &mut rest[0]);
        }
    }

    /// First derivatives of all layers along `direction`, at the point of `values`.
    pub fn tangent(&self, theta: &[f64], direction: &[f64], x: &[f64], values: &Trace, tangents: &mut Trace) {
        let first = self.first_parametric();
        for (l, layer) in self.layers.iter().enumerate().skip(first) {
            let (done, rest) = tangents.outputs.split_at_mut(l);
            let dx = if l > first { done.last().map(|v| v.as_slice()) } else { None };
            layer.tangent(self.at(l, theta, x, values), &direction[self.ranges[l].clone()], dx, &mut rest[0]);
        }
    }

    /// Second Taylor coefficients (half the second derivatives) of all layers along `direction`.
    pub fn second(
        &self,
        theta: &[f64],
        direction: &[f64],
        x: &[f64],
        values: &Trace,
        tangents: &Trace,
        seconds: &mut Trace,
    ) {
        let first = self.first_parametric();
        for (l, layer) in self.layers.iter().enumerate().skip(first) {
            let (done, rest) = seconds.outputs.split_at_mut(l);
            let (dx, d2x) = if l > first {
                (Some(tangents.outputs[l - 1].as_slice()), done.last().map(|v| v.as_slice()))
            } else {
                (None, None)
            };
            let at = self.at(l, theta, x, values);
            layer.second(at, &direction[self.ranges[l].clone()], dx, d2x, &mut rest[0]);
        }
    }

    /// Adds Jᵀu to `gradient`; u is the seed of `adjoint`.
    pub fn backward(
        &self,
        theta: &[f64],
        x: &[f64],
        values: &Trace,
        adjoint: &mut Adjoint,
        gradient: &mut [f64],
    ) {
        let first = self.first_parametric();
        for (l, layer) in self.layers.iter().enumerate().skip(first).rev() {
            let at = self.at(l, theta, x, values);
            let below = (l > first).then(|| &mut adjoint.below[..at.x.len()]);
            let gradient = Some(&mut gradient[self.ranges[l].clone()]);
            layer.backward(at, &adjoint.above[..at.y.len()], below, gradient);
            adjoint.step_down();
        }
    }

    /// Adds the derivative of [`Network::backward`] along `direction` to `d_gradient`; the
    /// seeds are u in `adjoint` and its derivative in `d_adjoint`.
    pub fn backward_tangent(
        &self,
        theta: &[f64],
        direction: &[f64],
        x: &[f64],
        (values, tangents): (&Trace, &Trace),
        (adjoint, d_adjoint): (&mut Adjoint, &mut Adjoint),
        d_gradient: &mut [f64],
    ) {
        let first = self.first_parametric();
        for (l, layer) in self.layers.iter().enumerate().skip(first).rev() {
            let at = self.at(l, theta, x, values);
            let range = self.ranges[l].clone();
            let inner = l > first;
            let y_adjoint = &adjoint.above[..at.y.len()];
            layer.backward_tangent(
                at,
                &direction[range.clone()],
                inner.then(|| tangents.outputs[l - 1].as_slice()),
                y_adjoint,
                &d_adjoint.above[..at.y.len()],
                inner.then(|| &mut d_adjoint.below[..at.x.len()]),
                &mut d_gradient[range],
            );
            if inner {
                layer.backward(at, y_adjoint, Some(&mut adjoint.below[..at.x.len()]), None);
            }
            d_adjoint.step_down();
            adjoint.step_down();
        }
    }

    /// Gradients of each sample on its own for the parameters in `subset` (ascending ranges),
    /// seed in `adjoint`: entry j·n + i of `out` is the subset's parameter j, sample i.
    pub fn per_sample_gradient(
        &self,
        theta: &[f64],
        x: &[f64],
        values: &Trace,
        adjoint: &mut Adjoint,
        subset: &[Range<usize>],
        out: &mut [f64],
    ) {
        let lowest = self.ranges.iter().position(|r| subset.first().is_some_and(|s| r.end > s.start));
        let lowest = lowest.unwrap_or(self.layers.len());
        let mut own = Vec::new();
        self.visit_adjoints(theta, x, values, adjoint, lowest, |l, at, y_adjoint| {
            let range = self.ranges[l].clone();
            own.resize(range.len() * at.n, 0.0);
            self.layers[l].per_sample_gradient(at, y_adjoint, &mut own);
            copy_subset(&own, range, subset, at.n, out);
        });
    }

    /// Runs the adjoints down to layer `lowest`, seed in `adjoint`, and calls `visit` at each layer
    /// with its index, its place and the adjoint of its output.
    pub fn visit_adjoints(
        &self,
        theta: &[f64],
        x: &[f64],
        values: &Trace,
        adjoint: &mut Adjoint,
        lowest: usize,
        mut visit: impl FnMut(usize, At<'_>, &[f64]),
    ) {
        for (l, layer) in self.layers.iter().enumerate().skip(lowest).rev() {
            let at = self.at(l, theta, x, values);
            let y_adjoint = &adjoint.above[..at.y.len()];
            visit(l, at, y_adjoint);
            if l > lowest {
                layer.backward(at, y_adjoint, Some(&mut adjoint.below[..at.x.len()]), None);
                adjoint.step_down();
            }
        }
    }
}

/// Copies those of a layer's parameters (rows of n) that belong to the subset to their place.
fn copy_subset(own: &[f64], range: Range<usize>, subset: &[Range<usize>], n: usize, out: &mut [f64]) {
    let mut position = 0;
    for part in subset {
        let (start, end) = (range.start.max(part.start), range.end.min(part.end));
        if start < end {
            let to = (position + start - part.start) * n;
            let from = (start - range.start) * n;
            let len = (end - start) * n;
            out[to..to + len].copy_from_slice(&own[from..from + len]);
        }
        position += part.len();
    }
}
