//! The sentences of the report, for a reader who sees the method for the first time.

pub(super) const ABOUT: &str = "\
A trained network gives one answer, and is often confident even far from its training data. This page \
compares five methods that estimate the uncertainty of the same trained network. They share the data, the \
trained weights and the random numbers; they differ only in how they turn random numbers into new weights.";

pub(super) const METHODS: [(&str, &str); 5] = [
    ("map", "The trained weights alone: one network, without uncertainty about the weights."),
    (
        "la",
        "Laplace approximation: weights from a Gaussian around the trained ones. Draws lie on straight \
         lines, which leave the region of low loss.",
    ),
    ("lin-la", "The same weights in a linearised network, for which the Gaussian fits better."),
    (
        "riem-la",
        "Riemannian Laplace: the same random directions, followed along geodesics that bend with the loss, then polished by short Markov chains.",
    ),
    ("lin-riem-la", "Geodesics of the loss of the linearised network."),
];

pub(super) const SCORES: &str = "\
Accuracy is the share of correct predictions. NLL and Brier measure the quality of the probabilities, ECE \
and MCE whether predictions made with 80 % confidence are correct 80 % of the time. AUROC far measures \
whether points far from the data can be distinguished from test points by their low confidence: 0.5 is \
chance, and below 0.5 the network is more confident far away than near its data.

Results on one small training set vary: the order of close scores changes with the seed (try --seed).";

pub(super) const MAPS: &str = "\
Colour is the predicted class, strong where the network is confident and pale where it is not. The dots \
are the training points, the thick line is the decision boundary, the thin lines are at 10 % and 90 %. The \
window is much larger than the data, to show the predictions far from them.";

pub(super) const RELIABILITY: &str = "\
On the diagonal, confidence equals accuracy. Points below it are overconfident, points above it \
underconfident. The bars at the bottom count the test points with each confidence.";

pub(super) const LOSSES: &str = "\
This figure shows why the method uses geodesics. Low loss means weights that explain the training data. \
The straight lines of la end where the loss is high: such networks no longer fit the data. Geodesics of \
riem-la begin in the same directions and end at low loss.";

pub(super) const LOSSES_CAPTION: &str = "\
Every dot is one draw, the bar is the median. For lin-la and lin-riem-la the loss is that of the \
linearised network, which makes their predictions. If the loss were quadratic, exact draws would be K/2 \
above the minimum on average (K is the number of weights).";

pub(super) const GEODESICS: &str = "\
A geodesic is the straightest curve on the surface of the loss. An exact geodesic satisfies two laws; a \
curve that violates them was not computed accurately.";

pub(super) const DRIFT: &str = "\
The speed along a geodesic is constant. A drift near 10⁻¹⁶ is rounding error, and no more should remain: \
this integrator restores the speed after every step.";

pub(super) const RISE: &str = "\
The loss can rise by at most the length of the geodesic divided by the strength a. Points must lie on or \
below the dashed line.";

pub(super) const COST: &str = "Gradients of the loss per draw: they take nearly all of the time.";

pub(super) const VIRIAL: &str = "\
The virial ratio is the mean of (θ − θ*)·∇L(θ)/K over the draws. For exact draws from the posterior it is \
1, whatever the network. Below 1 the draws stay too close to the trained weights, above 1 they overshoot \
(their loss is too high); if it is negative, they have left the basin of the trained weights.";
