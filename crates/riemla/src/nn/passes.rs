//! Passes of a network over one block of samples, on caller-owned buffers.

use std::ops::Range;

use super::buffers::{Adjoint, Below, Trace};
use super::graph::{Edge, Node, Operation};
use super::layer::{At, Layer};
use super::network::Network;

/// Where the reverse pass is differentiated along a direction of the parameters.
#[derive(Clone, Copy)]
pub struct Along<'a> {
    /// The direction.
    pub direction: &'a [f64],
    /// Values of all layers.
    pub values: &'a Trace,
    /// Their derivatives along the direction.
    pub tangents: &'a Trace,
}

/// A seed and its derivative.
pub struct Adjoints<'a> {
    /// u.
    pub adjoint: &'a mut Adjoint,
    /// Its derivative.
    pub derivative: &'a mut Adjoint,
}

/// Where a network is differentiated.
#[derive(Clone, Copy)]
struct Point<'a> {
    theta: &'a [f64],
    x: &'a [f64],
    values: &'a Trace,
}

/// out ← a + b, none being 0.
fn add(a: Option<&[f64]>, b: Option<&[f64]>, out: &mut [f64]) {
    match (a, b) {
        (Some(a), Some(b)) => out.iter_mut().zip(a).zip(b).for_each(|((o, a), b)| *o = a + b),
        (Some(one), None) | (None, Some(one)) => out.copy_from_slice(one),
        (None, None) => out.fill(0.0),
    }
}

impl Network {
    fn at<'a>(&self, l: usize, input: Edge, Point { theta, x, values }: Point<'a>) -> At<'a> {
        At {
            n: values.n,
            params: &theta[self.nodes[l].range.clone()],
            x: values.input(input, x),
            y: values.output_of(l),
        }
    }

    /// The node at the other end of an edge, if it is not below `lowest`.
    fn below(&self, edge: Edge, lowest: usize) -> Option<Below<'_>> {
        let from = edge.from.filter(|from| *from >= lowest)?;
        Some(Below { source: &self.nodes[from], first: edge.first })
    }

    /// Values of all layers for the input block `x`, of which `values` keeps what it was made for.
    pub fn forward(&self, theta: &[f64], x: &[f64], values: &mut Trace) {
        let n = values.n;
        for (l, node) in self.nodes.iter().enumerate() {
            let params = &theta[node.range.clone()];
            let mut buffer = values.take(l);
            let y = &mut buffer[..node.output.len() * n];
            match &node.operation {
                Operation::Layer { layer, input } if values.overwrites(l, *input) => {
                    layer.forward_in_place(n, params, y);
                }
                Operation::Layer { layer, input } => layer.forward(n, params, values.input(*input, x), y),
                Operation::Sum { inputs: [a, b] } => {
                    add(Some(values.input(*a, x)), Some(values.input(*b, x)), y);
                }
            }
            values.put(l, buffer);
        }
    }

    /// First derivatives of all layers along `direction`, at the point of `values`.
    pub fn tangent(&self, theta: &[f64], direction: &[f64], x: &[f64], values: &Trace, tangents: &mut Trace) {
        assert!(values.keeps_derivatives() && tangents.keeps_all(), "tangent: a trace that keeps too little");
        let first = self.first_parametric();
        for (l, node) in self.nodes.iter().enumerate().skip(first) {
            let mut dy = tangents.take(l);
            let tangent =
                |edge: &Edge| edge.from.filter(|from| *from >= first).map(|from| tangents.output_of(from));
            match &node.operation {
                Operation::Layer { layer, input } => {
                    let at = self.at(l, *input, Point { theta, x, values });
                    layer.tangent(at, &direction[node.range.clone()], tangent(input), &mut dy);
                }
                Operation::Sum { inputs: [a, b] } => add(tangent(a), tangent(b), &mut dy),
            }
            tangents.put(l, dy);
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
        assert!(seconds.keeps_all(), "second: a trace that keeps too little");
        let first = self.first_parametric();
        for (l, node) in self.nodes.iter().enumerate().skip(first) {
            let mut d2y = seconds.take(l);
            let inner = |edge: &Edge| edge.from.filter(|from| *from >= first);
            let second = |edge: &Edge| inner(edge).map(|from| seconds.output_of(from));
            match &node.operation {
                Operation::Layer { layer, input } => {
                    let at = self.at(l, *input, Point { theta, x, values });
                    let dx = inner(input).map(|from| tangents.output_of(from));
                    layer.second(at, &direction[node.range.clone()], dx, second(input), &mut d2y);
                }
                Operation::Sum { inputs: [a, b] } => add(second(a), second(b), &mut d2y),
            }
            seconds.put(l, d2y);
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
        let point = Point { theta, x, values };
        self.reverse(point, adjoint, self.first_parametric(), |l, layer, at, y_adjoint, x_adjoint| {
            let gradient = Some(&mut gradient[self.nodes[l].range.clone()]);
            layer.backward(at, y_adjoint, x_adjoint, gradient);
        });
    }

    /// Walks from the seed of `adjoint` down to node `lowest` and calls `step` at each layer with its
    /// index, its place, the adjoint of its output and where to write the one of its input, if anybody
    /// above `lowest` asks for it.
    fn reverse(
        &self,
        point: Point<'_>,
        adjoint: &mut Adjoint,
        lowest: usize,
        mut step: impl FnMut(usize, &dyn Layer, At<'_>, &[f64], Option<&mut [f64]>),
    ) {
        assert!(point.values.keeps_derivatives(), "reverse pass: a trace that keeps too little");
        let n = point.values.n;
        for (l, node) in self.nodes.iter().enumerate().skip(lowest).rev() {
            match &node.operation {
                Operation::Layer { layer, input } => {
                    let below = self.below(*input, lowest);
                    let (y_adjoint, x_adjoint) = adjoint.step(node, below, n);
                    step(l, &**layer, self.at(l, *input, point), y_adjoint, x_adjoint);
                    adjoint.merge(below, n);
                }
                Operation::Sum { inputs } => {
                    inputs.iter().for_each(|edge| adjoint.pass_on(node, self.below(*edge, lowest), n));
                }
            }
        }
    }

    /// Adds the derivative of [`Network::backward`] along a direction to `d_gradient`.
    pub fn backward_tangent(
        &self,
        theta: &[f64],
        x: &[f64],
        along: Along<'_>,
        adjoints: Adjoints<'_>,
        d_gradient: &mut [f64],
    ) {
        let Along { direction, values, tangents } = along;
        let Adjoints { adjoint, derivative } = adjoints;
        let (n, first) = (values.n, self.first_parametric());
        for (l, node) in self.nodes.iter().enumerate().skip(first).rev() {
            let (layer, input) = match &node.operation {
                Operation::Layer { layer, input } => (layer, *input),
                Operation::Sum { inputs } => {
                    for edge in inputs {
                        let below = self.below(*edge, first);
                        adjoint.pass_on(node, below, n);
                        derivative.pass_on(node, below, n);
                    }
                    continue;
                }
            };
            let at = self.at(l, input, Point { theta, x, values });
            let below = self.below(input, first);
            let dx = input.from.filter(|_| below.is_some()).map(|from| tangents.output_of(from));
            let (y_adjoint, x_adjoint) = adjoint.step(node, below, n);
            let (dy_adjoint, dx_adjoint) = derivative.step(node, below, n);
            let (direction, d_gradient) =
                (&direction[node.range.clone()], &mut d_gradient[node.range.clone()]);
            layer.backward_tangent(at, direction, dx, y_adjoint, dy_adjoint, dx_adjoint, d_gradient);
            if x_adjoint.is_some() {
                layer.backward(at, y_adjoint, x_adjoint, None);
            }
            adjoint.merge(below, n);
            derivative.merge(below, n);
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
        let reached = |node: &Node| subset.first().is_some_and(|first| node.range.end > first.start);
        let lowest = self.nodes.iter().position(reached).unwrap_or(self.nodes.len());
        let mut own = Vec::new();
        self.visit_adjoints(theta, x, values, adjoint, lowest, |l, at, y_adjoint| {
            let (Some(layer), range) = (self.layer(l), self.nodes[l].range.clone()) else { return };
            own.resize(range.len() * at.n, 0.0);
            layer.per_sample_gradient(at, y_adjoint, &mut own);
            copy_subset(&own, range, subset, at.n, out);
        });
    }

    /// The place of layer `l` in a pass; none for a sum.
    pub fn place<'a>(&self, l: usize, theta: &'a [f64], x: &'a [f64], values: &'a Trace) -> Option<At<'a>> {
        let Operation::Layer { input, .. } = self.nodes.get(l)?.operation else { return None };
        Some(self.at(l, input, Point { theta, x, values }))
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
        let point = Point { theta, x, values };
        self.reverse(point, adjoint, lowest, |l, layer, at, y_adjoint, x_adjoint| {
            visit(l, at, y_adjoint);
            if x_adjoint.is_some() {
                layer.backward(at, y_adjoint, x_adjoint, None);
            }
        });
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
