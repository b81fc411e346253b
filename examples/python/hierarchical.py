# %% [markdown]
# # A hierarchical model that is no network
# Ten clinics treat a few patients each; some recover. The log-odds of the clinics come from one population of unknown
# mean and spread, so small clinics are drawn towards the others. NumPy and a gradient by hand; the Hessian comes from
# differences. This model can be integrated exactly, so the draws are compared with the truth.
#
# Run: `python examples/python/hierarchical.py [picture.png]` (needs matplotlib).

# %%
import sys

import matplotlib
import numpy as np

import riemla

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

patients = np.array([8, 40, 30, 12, 60, 25, 10, 50, 35, 20])
recovered = np.array([0, 22, 9, 2, 44, 15, 7, 31, 8, 16])


# %% Minus the log-posterior and its gradient. The choice of parameters matters: draws start at the mode, and the mode of a
# hierarchical model may be far from its mass. The log spread is 0.1 on average; with the log-odds themselves as parameters
# draws average -0.3, and with log-odds = mean + spread · z the mode alone is at 1.4. Halfway between, with
# log-odds = mean + √spread · w and w ~ N(0, spread), draws average 0.3 and the intervals below are right to 0.02.
def loss(theta):
    """theta = mean ~ N(0, 2²), log of the spread ~ N(0, 1), and w of ten clinics."""
    mean, log_spread, w = theta[0], theta[1], theta[2:]
    root = np.exp(log_spread / 2)
    odds = mean + root * w
    value = np.sum(patients * np.logaddexp(0, odds) - recovered * odds)
    value += 0.5 * (w @ w / root**2 + len(w) * log_spread + (mean / 2) ** 2 + log_spread**2)
    slope = patients / (1 + np.exp(-odds)) - recovered
    of_spread = 0.5 * (root * (slope @ w) - w @ w / root**2 + len(w)) + log_spread
    return value, np.array([slope.sum() + mean / 4, of_spread, *(root * slope + w / root**2)])


# %% A minimum, by gradient descent with steps that adapt
theta, rate = np.zeros(12), 0.01
for _ in range(5000):
    value, gradient = loss(theta)
    following = theta - rate * gradient
    theta, rate = (following, rate * 1.1) if loss(following)[0] < value else (theta, rate / 2)
    if np.linalg.norm(gradient) < 1e-5:
        break

posterior = riemla.from_function(loss, theta, parameters={"mean": (), "log_spread": (), "w": (10,)})
draws = posterior.sample(500, seed=1)
print(posterior)
print(f"virial ratio (1 is right): {draws.summary['virial_ratio']:.2f}")

# %% Draws by name
odds = draws["mean"][:, None] + np.exp(draws["log_spread"] / 2)[:, None] * draws["w"]
low, high = 1 / (1 + np.exp(-np.quantile(odds, [0.05, 0.95], axis=0)))

# %% The truth: for a given mean and spread the clinics are independent, with one integral over the log-odds each
mean, log_spread, grid = np.linspace(-4, 4, 60), np.linspace(-2, 2.5, 70), np.linspace(-8, 6, 160)
likelihood = np.exp(recovered[:, None] * grid - patients[:, None] * np.logaddexp(0, grid))
likelihood /= likelihood.max(axis=1, keepdims=True)
apart = (grid - mean[:, None, None]) * np.exp(-log_spread[:, None])
population = np.exp(-0.5 * apart**2 - log_spread[:, None])  # mean × log spread × log-odds
clinics = population @ likelihood.T
hyper = np.exp(-0.5 * (mean[:, None] / 2) ** 2 - 0.5 * log_spread**2) * clinics.prod(axis=-1)
joint = [np.einsum("ms,mso->so", hyper / clinics[..., k], population) * likelihood[k] for k in range(10)]
exact = np.array([np.interp([0.05, 0.95], (p := part.sum(axis=0)).cumsum() / p.sum(), grid) for part in joint])
exact = 1 / (1 + np.exp(-exact.T))
for k in range(10):
    ends = f"90 % in {low[k]:.2f} … {high[k]:.2f}, exactly {exact[0, k]:.2f} … {exact[1, k]:.2f}"
    print(f"clinic {k}: {recovered[k]:2} of {patients[k]}, {ends}")

# %% Left: intervals of all clinics. Right: the two parameters of the smallest clinic that depend on each other most
RIEM_LA = "#0067a8"  # as in the reports of riemla
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), constrained_layout=True, width_ratios=(1.3, 1))
place = np.arange(10)
left.vlines(place - 0.12, low, high, color=RIEM_LA, lw=4, label="90 % of the draws (riem-la)")
left.vlines(place + 0.12, *exact, color="0.6", lw=4, label="exact")
left.scatter(place, recovered / patients, color="k", s=22, zorder=3, label="recovered / patients")
left.axhline(1 / (1 + np.exp(-draws["mean"].mean())), color="#d95f02", ls="--", lw=1, label="mean of the population")
left.set_xticks(place, [f"{r}/{n}" for r, n in zip(recovered, patients)])
left.set(xlabel="clinic: recovered/patients", ylabel="probability of recovery", ylim=(0, 1.25), yticks=np.linspace(0, 1, 6))
left.legend(fontsize=8, loc="upper left", ncols=2)
ordered = np.sort(joint[0].ravel() / joint[0].sum())[::-1]
levels = [ordered[np.searchsorted(ordered.cumsum(), mass)] * joint[0].sum() for mass in (0.95, 0.5)]
right.scatter(odds[:, 0], draws["log_spread"], s=8, alpha=0.6, color=RIEM_LA, linewidth=0)
right.contour(grid, log_spread, joint[0], levels=levels, colors="k", linewidths=1)
right.set(title="draws, and exact 50 and 95 % regions", xlim=(-7, 1.5), ylim=(-1.2, 1.8))
right.set(xlabel="log-odds of the first clinic", ylabel="log spread")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "hierarchical.png", dpi=80)
