# %% [markdown]
# # Regression with a gap
# A noisy sine without data in the middle: the intervals of a good posterior widen there.
#
# Run: `python examples/python/regression_gap.py [picture.png]` (needs matplotlib).

# %%
import sys

import matplotlib
import numpy as np

import riemla

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# %% Data
rng = np.random.default_rng(2)
x = np.concatenate([rng.uniform(-2, -0.6, 40), rng.uniform(0.7, 2, 40)])
y = np.sin(2.5 * x) + rng.normal(scale=0.15, size=80)

# %% A network of riemla's own; training chooses prior and noise, too
network = riemla.Network.mlp([1, 15, 1], "tanh")
found = network.train(x[:, None], y, "regression")
print(f"prior precision {found['prior_precision']:.3f}, noise {found['sigma_noise']:.3f} (0.15 is the truth)")

la = riemla.Laplace(
    network, "regression", prior_precision=found["prior_precision"], sigma_noise=found["sigma_noise"]
).fit(x[:, None], y)

# %% Three posteriors. The Gaussian of the weights leaves the region of low loss, so that its functions miss the data;
# linearising the network repairs that; geodesics stay in the region without it
grid = np.linspace(-3, 3, 200)[:, None]
titles = {"la": "la: Gaussian of the weights", "lin-la": "lin-la: linearised network", "riem-la": "riem-la: geodesics"}
colours = {"la": "#c77700", "lin-la": "#b04a8b", "riem-la": "#0067a8"}  # as in the reports of riemla
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), sharey=True, constrained_layout=True)
for place, (method, title) in zip(axes, titles.items()):
    draws = la.sample(100, method=method, seed=1)
    prediction = la.predict(grid, draws=draws)
    low, high = prediction.interval(0.95)
    place.fill_between(grid[:, 0], low[:, 0], high[:, 0], color=colours[method], alpha=0.2, lw=0, label="95 % interval")
    place.plot(grid, la.predictive_samples(grid, draws=draws)[:8, :, 0].T, color=colours[method], lw=0.5)
    place.plot(grid, prediction.mean, color=colours[method], lw=2, label="mean")
    place.plot(grid, np.sin(2.5 * grid), ls="--", color="k", lw=1.2, label="truth")
    place.scatter(x, y, s=8, c="k", zorder=3)
    place.set(title=title, xlabel="x", xlim=(-3, 3), ylim=(-4, 4))
    middle = la.predict([[0.0]], draws=draws).epistemic[0, 0] ** 0.5
    edge = la.predict([[1.3]], draws=draws).epistemic[0, 0] ** 0.5
    print(f"{method}: deviation over draws {middle:.2f} in the gap, {edge:.2f} among the data")
axes[1].legend(loc="upper left", fontsize=8, ncols=3)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "regression_gap.png", dpi=80)
