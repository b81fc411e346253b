# %% [markdown]
# # A residual network with LayerNorm in torch
# riemla has no layers for this model. laplace-torch gives the curvature, torch itself the loss and its gradient, on
# whatever device the model is.
#
# Run: `python examples/python/residual_network.py` (needs `pip install 'riemla[torch]'`).

# %%
import numpy as np
import torch
from laplace import Laplace
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import riemla


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
draws = posterior.sample(20, seed=1)
print(posterior)
print(f"virial ratio (1 is right): {draws.summary['virial_ratio']:.2f}")

# %% Probabilities with uncertainty, and draws back in the model
prediction = posterior.predict(torch.tensor([[0.0, 1.0], [0.0, 0.0], [9.0, 9.0]]))
for p, epistemic in zip(prediction.probabilities, prediction.epistemic):
    print(np.round(p, 2), f"epistemic {epistemic:.2f}")
model.load_state_dict(next(draws.state_dicts()))
