# %% [markdown]
# # A model in JAX with Equinox
# Any function with a gradient will do: here the loss of an Equinox model on its flattened parameters, compiled by JAX.
#
# Run: `python examples/python/jax_equinox.py [picture.png]` (needs `pip install riemla jax equinox scipy matplotlib`).

# %%
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize

import riemla

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# Geodesics need the loss to many digits.
jax.config.update("jax_enable_x64", True)

# %% Data and model
rng = np.random.default_rng(0)
x = rng.uniform(-2, 2, size=(50, 1))
y = np.sin(2 * x) + rng.normal(scale=0.1, size=x.shape)
model = eqx.nn.MLP(1, 1, width_size=8, depth=1, activation=jnp.tanh, key=jax.random.key(0))
parameters, static = eqx.partition(model, eqx.is_array)
start, unravel = ravel_pytree(parameters)


def outputs(theta, x):
    return jax.vmap(eqx.combine(unravel(theta), static))(x)


def loss(theta):
    """Minus the log-posterior: noise of deviation 0.1, prior precision 1."""
    return 0.5 * jnp.sum((outputs(theta, x) - y) ** 2) / 0.1**2 + 0.5 * theta @ theta


# %% A minimum, and the posterior around it: the curvature is the generalised Gauss-Newton matrix
value_and_grad = jax.jit(jax.value_and_grad(loss))
theta = minimize(value_and_grad, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-6}).x
jacobian = jax.jacobian(outputs)(jnp.asarray(theta), x).reshape(50, -1)
precision = jacobian.T @ jacobian / 0.1**2 + jnp.eye(len(theta))
posterior = riemla.from_function(value_and_grad, theta, precision, value=jax.jit(loss))
draws = {method: posterior.sample(100, method=method, seed=1) for method in ("la", "riem-la")}
print(posterior)
for method, found in draws.items():
    print(f"{method}: virial ratio (1 is right) {found.summary['virial_ratio']:.2f}")

# %% Predictions are JAX's own
grid = np.linspace(-4, 4, 200)[:, None]
colours = {"la": "#c77700", "riem-la": "#0067a8"}  # as in the reports of riemla
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, constrained_layout=True)
for place, (method, found) in zip(axes, draws.items()):
    values = np.asarray(jax.vmap(outputs, (0, None))(jnp.asarray(found.theta), grid))[:, :, 0]
    low, high = np.quantile(values, [0.025, 0.975], axis=0)
    place.fill_between(grid[:, 0], low, high, color=colours[method], alpha=0.2, lw=0, label="95 % of the functions")
    place.plot(grid, values[:8].T, color=colours[method], lw=0.6)
    place.plot(grid, np.median(values, axis=0), color=colours[method], lw=2, label="median")
    place.plot(grid, np.sin(2 * grid), "k:", lw=1, label="truth")
    place.scatter(x, y, s=8, c="k", zorder=3)
    place.set(title=f"{method}, {len(found)} draws", xlabel="x", ylim=(-4, 4), xlim=(-4, 4))
axes[1].legend(loc="lower left", fontsize=8)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "jax_equinox.png", dpi=80)
