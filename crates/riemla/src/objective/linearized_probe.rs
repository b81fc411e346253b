//! Values of a linearised loss along lines: outputs are linear in θ, so that they need no pass once the line is known.

use std::sync::Mutex;

use super::linearized::{LinearizedLoss, Workspace};
use super::pool::lock;
use super::probe::point_on_line;
use super::{Objective, Probe};

pub(super) struct LinearizedProbe<'a> {
    loss: &'a LinearizedLoss,
    workspace: Workspace,
    base: Vec<f64>,
    direction: Vec<f64>,
    point: Vec<f64>,
    /// One for each block.
    lines: Vec<Mutex<Line>>,
    /// Whether these are of the present line: a single point on it is cheaper without.
    line_known: bool,
}

/// Outputs of a block along the line.
struct Line {
    base: Vec<f64>,
    slope: Vec<f64>,
}

impl<'a> LinearizedProbe<'a> {
    pub(super) fn new(loss: &'a LinearizedLoss) -> Self {
        let (zeros, workspace) = (vec![0.0; loss.dim()], loss.workspace());
        let line = |len: usize| Mutex::new(Line { base: vec![0.0; len], slope: vec![0.0; len] });
        Self {
            loss,
            lines: workspace.blocks.iter().map(|outputs| line(lock(outputs).f.len())).collect(),
            workspace,
            base: zeros.clone(),
            direction: zeros.clone(),
            point: zeros,
            line_known: false,
        }
    }

    fn learn_line(&mut self) {
        let Self { loss, workspace, lines, base, direction, .. } = self;
        loss.displace(base, workspace);
        loss.sum_blocks(&mut [], |b, pass, _| {
            let line = &mut lock(&lines[b]);
            loss.outputs_of_block(b, &workspace.displacement, pass, &mut line.base);
            loss.jvp_block(b, direction, &mut pass.tangents);
            line.slope.copy_from_slice(pass.tangents.output());
            []
        });
        self.line_known = true;
    }
}

impl Probe for LinearizedProbe<'_> {
    fn value(&mut self, theta: &[f64]) -> f64 {
        self.point.copy_from_slice(theta);
        self.loss.value_in(theta, &mut self.workspace)
    }

    fn set_line(&mut self, base: &[f64], direction: &[f64]) {
        self.base.copy_from_slice(base);
        self.direction.copy_from_slice(direction);
        self.line_known = false;
    }

    fn value_on_line(&mut self, t: f64) -> f64 {
        if !self.line_known {
            self.learn_line();
        }
        point_on_line(&self.base, &self.direction, t, &mut self.point);
        for (outputs, line) in self.workspace.blocks.iter().zip(&self.lines) {
            let line = lock(line);
            point_on_line(&line.base, &line.slope, t, &mut lock(outputs).f);
        }
        self.loss.value_of_outputs(&self.point, &self.workspace)
    }

    fn gradient(&mut self, gradient: &mut [f64]) {
        self.loss.gradient_in(&self.point, &self.workspace, gradient);
    }

    fn value_and_gradient_on_line(&mut self, t: f64, gradient: &mut [f64]) -> f64 {
        point_on_line(&self.base, &self.direction, t, &mut self.point);
        self.loss.value_and_gradient_in(&self.point, &mut self.workspace, gradient)
    }
}
