//! The sentences of the report, for a reader who sees the method for the first time.

pub(super) const ABOUT: &str = "\
A network that was trained once gives one answer, and is often sure of it where it has never seen \
data. This page compares five ways to ask the same trained network how sure it should be. They share \
the data, the trained weights and the random numbers; only the way from the random numbers to new \
weights differs.";

pub(super) const METHODS: [(&str, &str); 5] = [
    ("map", "The trained weights alone: one network, no doubt about it."),
    (
        "la",
        "Laplace approximation: weights from a Gaussian around the trained ones. It follows straight lines, which leave the region of good weights.",
    ),
    ("lin-la", "The same weights in a linearised network, for which the Gaussian fits better."),
    (
        "riem-la",
        "Riemannian Laplace: the same random directions, followed along geodesics that bend with the loss.",
    ),
    ("lin-riem-la", "Geodesics of the loss of the linearised network."),
];

pub(super) const SCORES: &str = "\
Accuracy is the share of right predictions. NLL and Brier punish wrong probabilities, ECE and MCE \
measure whether a confidence of 80 % is right 80 % of the time. AUROC far asks whether points far from \
the data can be told from test points by their low confidence: 0.5 is chance, and below it the network \
is surer far away than among its data.

One small training set decides little: the order of close scores changes with the seed (try --seed).";

pub(super) const MAPS: &str = "\
Colour is the predicted class, strong where the network is sure and clear where it is not. The dots are \
the training points, the thick line is the decision boundary, the thin lines are at 10 % and 90 %. The \
window is much larger than the data, because what happens away from them is the question.";

pub(super) const RELIABILITY: &str = "\
On the diagonal, a confidence is right as often as it says. Points below it are overconfident, points \
above it too modest. The bars at the bottom count the test points with each confidence.";

pub(super) const LOSSES: &str = "\
The point of the method in one picture. Low loss means weights that explain the training data. The \
straight lines of la end far up the loss surface: such networks do not fit the data any more. Geodesics \
of riem-la begin in the same directions and end at low loss.";

pub(super) const LOSSES_CAPTION: &str = "\
Every dot is one draw, the bar is the median. lin-la and lin-riem-la are judged by the loss of the \
linearised network, which makes their predictions. If the loss were a quadratic bowl, exact draws would \
lie K/2 above the minimum on average (K is the number of weights).";

pub(super) const GEODESICS: &str = "\
A geodesic is the straightest curve on the surface of the loss. Two laws hold for an exact one; a curve \
that breaks them was not followed well.";

pub(super) const DRIFT: &str = "\
The speed along a geodesic is constant. Drift near 10⁻¹⁶ is the rounding of the arithmetic, \
which is all that should be left: this integrator restores the speed after every step.";

pub(super) const RISE: &str = "\
The loss can rise by no more than the length of the geodesic over the strength a. Points must lie on or \
below the dashed line.";

pub(super) const COST: &str = "Gradients of the loss per draw: nearly all of the time is spent there.";

pub(super) const VIRIAL: &str = "\
The virial ratio is the mean of (θ − θ*)·∇L(θ)/K over the draws. For exact draws from the posterior it \
is 1, whatever the network. Below 1 the draws stay too close to the trained weights, above 1 they are \
too far out.";
