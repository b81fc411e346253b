# %% [markdown]
# # A residual network with LayerNorm in torch
# riemla has no layers for this model. laplace-torch gives the curvature, torch itself the loss and its gradient, on
# whatever device the model is.
#
# Run: `python examples/python/residual_network.py [picture.png]` (needs `pip install 'riemla[torch]' matplotlib`).

# %%
import sys

import matplotlib
import numpy as np
import torch
from laplace import Laplace
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import riemla

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + torch.tanh(self.inner(self.norm(x)))


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 6), Residual(6), nn.Linear(6, 3))

# %% Three classes in the plane
rng = np.random.default_rng(0)
y = torch.arange(90) % 3
X = torch.tensor(rng.normal(size=(90, 2)) * 0.5 + np.array([[0, 1], [1, -1], [-1, -1]])[y], dtype=torch.float32)
loader = DataLoader(TensorDataset(X, y), batch_size=30)
optimiser = torch.optim.LBFGS(model.parameters(), max_iter=100, line_search_fn="strong_wolfe")


def loss():
    optimiser.zero_grad()
    decay = 0.5 * sum(p.square().sum() for p in model.parameters())
    total = nn.functional.cross_entropy(model(X), y, reduction="sum") + decay
    total.backward()
    return total


for _ in range(3):
    optimiser.step(loss)

# %% laplace-torch, then geodesics
la = Laplace(model, "classification", subset_of_weights="all", hessian_structure="full", prior_precision=1.0)
la.fit(loader)
posterior = riemla.from_laplace(la, loader)
draws = {method: posterior.sample(30, method=method, seed=1) for method in ("la", "riem-la")}
print(posterior)
for method, found in draws.items():
    print(f"{method}: virial ratio (1 is right) {found.summary['virial_ratio']:.2f}")

# %% The most probable class as a colour, the paler the less sure
axis = np.linspace(-6, 6, 100)
grid = torch.tensor(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2))
colours = np.array([[0.80, 0.15, 0.15], [0.10, 0.35, 0.75], [0.10, 0.60, 0.25]])
maps = {"the trained network": model(grid.float()).softmax(dim=1).detach().numpy()}
maps |= {f"{method}, {len(found)} draws": posterior(grid, draws=found) for method, found in draws.items()}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, constrained_layout=True)
for place, (name, p) in zip(axes, maps.items()):
    sure = (1.5 * p.max(axis=1) - 0.5)[:, None]  # 0 for a third each, 1 for one class alone
    picture = 1 - sure * (1 - colours[p.argmax(axis=1)])
    place.imshow(picture.reshape(100, 100, 3), origin="lower", extent=(-6, 6, -6, 6), aspect="auto")
    place.scatter(*X.T, c=colours[y], edgecolors="w", linewidths=0.6, s=18)
    place.set(title=name, xlabel="$x_1$")
axes[0].set_ylabel("$x_2$")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "residual_network.png", dpi=80)

# %% Draws back in the model
model.load_state_dict(next(draws["riem-la"].state_dicts()))
