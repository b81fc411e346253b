# %% [markdown]
# # Two moons in PyTorch
# A small network is trained on two noisy half circles. Its own probabilities are sure everywhere, also far from any
# data; those averaged over draws of the weights are not.
#
# Run: `python examples/python/two_moons.py [picture.png]` (needs `pip install 'riemla[torch]' matplotlib`).

# %%
import sys

import matplotlib
import numpy as np
import torch
from torch import nn

import riemla

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# %% Data
rng = np.random.default_rng(1)
angle = rng.uniform(0, np.pi, size=100)
y = np.arange(100) % 2
X = np.stack(
    [np.where(y == 0, np.cos(angle), 1 - np.cos(angle)), np.where(y == 0, np.sin(angle), 0.5 - np.sin(angle))], axis=1
) + rng.normal(scale=0.15, size=(100, 2))

# %% An ordinary model, trained to a minimum of the sum of losses with weight decay
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2)).double()
x_t, y_t = torch.as_tensor(X), torch.as_tensor(y)
optimiser = torch.optim.LBFGS(model.parameters(), max_iter=300, line_search_fn="strong_wolfe")


def loss():
    optimiser.zero_grad()
    decay = 0.5 * 0.1 * sum(p.square().sum() for p in model.parameters())
    total = nn.functional.cross_entropy(model(x_t), y_t, reduction="sum") + decay
    total.backward()
    return total


for _ in range(10):
    optimiser.step(loss)

# %% From one network to many
la = riemla.Laplace(model, "classification", prior_precision=0.1).fit(X, y)
la.optimize_prior_precision(refit=True)
draws = {method: la.sample(50, method=method, seed=7) for method in ("la", "riem-la")}
print(la)
print(draws["riem-la"])

# %% Confidence on a grid
axis = np.linspace(-2.5, 3.5, 80), np.linspace(-2.5, 3, 80)
grid = np.stack(np.meshgrid(*axis), axis=-1).reshape(-1, 2)
logits = la._network(grid)
own = np.exp(logits - logits.max(axis=1, keepdims=True))
maps = {"the trained network": own / own.sum(axis=1, keepdims=True)}
maps |= {f"{method}, 50 draws": la(grid, draws=found) for method, found in draws.items()}

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, constrained_layout=True)
for place, (name, p) in zip(axes, maps.items()):
    picture = place.contourf(*axis, p[:, 1].reshape(80, 80), levels=np.linspace(0, 1, 21), cmap="RdBu")
    place.scatter(*X.T, c=y, cmap="RdBu", edgecolors="k", s=14)
    place.set_title(name)
figure.colorbar(picture, ax=axes, label="probability of class 1")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "two_moons.png", dpi=80)

# %% The same in numbers: mean entropy far from the data, in nats (0.693 is "no idea")
far = np.array([[-8.0, 8.0], [8.0, 8.0], [8.0, -8.0], [-8.0, -8.0]])
for method, found in draws.items():
    print(f"{method}: {la.predict(far, draws=found).total.mean():.3f}")
