# %% [markdown]
# # A model in JAX with Equinox
# Any function with a gradient will do: here the loss of an Equinox model on its flattened parameters, compiled by JAX.
#
# Run: `python examples/python/jax_equinox.py` (needs `pip install riemla jax equinox`).

# %%
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize

import riemla

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
draws = posterior.sample(50, seed=1)
print(posterior)
print(f"virial ratio (1 is right): {draws.summary['virial_ratio']:.2f}")

# %% Predictions are JAX's own
at = jnp.array([[0.0], [4.0]])
values = jax.vmap(outputs, (0, None))(jnp.asarray(draws.theta), at)
for place, mean, deviation in zip(at[:, 0], values.mean(axis=0)[:, 0], values.std(axis=0)[:, 0]):
    print(f"f({place:.0f}) = {mean:.2f} ± {deviation:.2f}")
