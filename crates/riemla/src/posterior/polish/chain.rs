//! A Hamiltonian chain for exp(−L): leapfrog steps, and a Metropolis test that corrects their error.

use rand::RngExt as _;

use crate::Result;
use crate::curvature::Precision;
use crate::error::check_len;
use crate::linalg::vector::{axpy, dot};
use crate::objective::{Objective, Probe};
use crate::random::{Rng, fill_normal};

/// A point with a momentum, moved by leapfrog steps of the Hamiltonian L(θ) + ½‖u‖².
///
/// With a mass matrix M the momentum u is white: the velocity is Su and the force −Sᵀ∇L, with SSᵀ = M⁻¹.
/// The map is reversible and keeps volumes; its error of the energy is of order 2 in the step.
pub struct Leapfrog<'a> {
    probe: Box<dyn Probe + 'a>,
    mass: Option<&'a dyn Precision>,
    state: State,
    velocity: Vec<f64>,
}

/// A point, and the momentum there.
#[derive(Debug, Clone)]
struct State {
    theta: Vec<f64>,
    momentum: Vec<f64>,
    /// Sᵀ∇L.
    slope: Vec<f64>,
    loss: f64,
}

impl State {
    fn copy_from(&mut self, other: &Self) {
        self.theta.copy_from_slice(&other.theta);
        self.momentum.copy_from_slice(&other.momentum);
        self.slope.copy_from_slice(&other.slope);
        self.loss = other.loss;
    }
}

impl<'a> Leapfrog<'a> {
    /// At `theta`, at rest. Without a mass matrix it is the identity. Costs a gradient.
    pub fn new(objective: &'a dyn Objective, mass: Option<&'a dyn Precision>, theta: &[f64]) -> Result<Self> {
        check_len("start of a chain", objective.dim(), theta.len())?;
        if let Some(mass) = mass {
            check_len("mass matrix", objective.dim(), mass.dim())?;
        }
        let zeros = vec![0.0; theta.len()];
        let state =
            State { theta: theta.to_vec(), momentum: zeros.clone(), slope: zeros.clone(), loss: f64::NAN };
        let mut leapfrog = Self { probe: objective.probe(), mass, state, velocity: zeros };
        leapfrog.evaluate();
        Ok(leapfrog)
    }

    /// Where it is.
    pub fn theta(&self) -> &[f64] {
        &self.state.theta
    }

    /// L there.
    pub fn loss(&self) -> f64 {
        self.state.loss
    }

    /// The white momentum u.
    pub fn momentum_mut(&mut self) -> &mut [f64] {
        &mut self.state.momentum
    }

    /// L + ½‖u‖²; constant along exact trajectories.
    pub fn energy(&self) -> f64 {
        self.state.loss + 0.5 * dot(&self.state.momentum, &self.state.momentum)
    }

    /// Takes steps of size `step`, a gradient each, up to the first point where the loss is not finite;
    /// returns how many.
    pub fn advance(&mut self, step: f64, count: usize) -> usize {
        for taken in 1..=count {
            axpy(-0.5 * step, &self.state.slope, &mut self.state.momentum);
            self.velocity.copy_from_slice(&self.state.momentum);
            if let Some(mass) = self.mass {
                mass.sqrt_solve(&mut self.velocity);
            }
            axpy(step, &self.velocity, &mut self.state.theta);
            self.evaluate();
            if !self.state.loss.is_finite() {
                return taken;
            }
            axpy(-0.5 * step, &self.state.slope, &mut self.state.momentum);
        }
        count
    }

    fn evaluate(&mut self) {
        let State { theta, slope, loss, .. } = &mut self.state;
        *loss = self.probe.value(theta);
        if loss.is_finite() {
            self.probe.gradient(slope);
            if let Some(mass) = self.mass {
                mass.sqrt_solve_transpose(slope);
            }
        }
    }
}

/// A Markov chain with the stationary density exp(−L).
///
/// ```
/// use riemla::objective::Objective;
/// use riemla::posterior::HamiltonianChain;
/// use riemla::random::{Purpose, stream};
///
/// struct Normal; // L = θ²/2: draws are standard normal
/// impl Objective for Normal {
///     fn dim(&self) -> usize { 1 }
///     fn value(&self, theta: &[f64]) -> f64 { 0.5 * theta[0] * theta[0] }
///     fn value_and_gradient(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
///         gradient[0] = theta[0];
///         self.value(theta)
///     }
/// }
///
/// let mut rng = stream(1, Purpose::Polish, 0);
/// let mut chain = HamiltonianChain::new(&Normal, None, &[5.0])?;
/// let accepted: f64 = (0..20).map(|_| chain.transition(0.5, 3, &mut rng).acceptance).sum();
/// assert!(accepted > 10.0 && chain.theta()[0].abs() < 5.0);
/// # Ok::<(), riemla::Error>(())
/// ```
pub struct HamiltonianChain<'a> {
    moving: Leapfrog<'a>,
    /// Where the chain is between transitions.
    here: State,
}

/// One proposal of a [`HamiltonianChain`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transition {
    /// Its probability to be accepted; 0 where the energy is not finite.
    pub acceptance: f64,
    /// Whether it was.
    pub accepted: bool,
    /// Gradients it took.
    pub gradients: usize,
}

impl<'a> HamiltonianChain<'a> {
    /// A chain that starts at `theta`; the mass matrix is the identity if none is given.
    pub fn new(objective: &'a dyn Objective, mass: Option<&'a dyn Precision>, theta: &[f64]) -> Result<Self> {
        let moving = Leapfrog::new(objective, mass, theta)?;
        let here = moving.state.clone();
        Ok(Self { moving, here })
    }

    /// Where it is.
    pub fn theta(&self) -> &[f64] {
        &self.here.theta
    }

    /// L there.
    pub fn loss(&self) -> f64 {
        self.here.loss
    }

    /// Proposes the end of `leaps` steps with a fresh momentum. Where the loss is not finite, be it at the start, on
    /// the way or at the end, the chain stays.
    pub fn transition(&mut self, step: f64, leaps: usize, rng: &mut Rng) -> Transition {
        self.partial_transition(step, leaps, 0.0, rng)
    }

    /// The same with a share of the last momentum.
    pub fn partial_transition(
        &mut self,
        step: f64,
        leaps: usize,
        persistence: f64,
        rng: &mut Rng,
    ) -> Transition {
        let Self { moving, here } = self;
        fill_normal(rng, &mut moving.velocity);
        let fresh = (1.0 - persistence * persistence).sqrt();
        for (u, n) in moving.state.momentum.iter_mut().zip(&moving.velocity) {
            *u = persistence * *u + fresh * n;
        }
        here.momentum.copy_from_slice(&moving.state.momentum);
        let before = moving.energy();
        let gradients = if before.is_finite() { moving.advance(step, leaps) } else { 0 };
        let change = moving.energy() - before;
        let acceptance = if change.is_finite() { (-change).exp().min(1.0) } else { 0.0 };
        // Also drawn where the answer is known: what follows does not depend on the way here.
        let accepted = rng.random::<f64>() < acceptance;
        if accepted {
            here.copy_from(&moving.state);
        } else {
            here.momentum.iter_mut().for_each(|u| *u = -*u);
            moving.state.copy_from(here);
        }
        Transition { acceptance, accepted, gradients }
    }
}
