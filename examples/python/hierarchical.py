# %% [markdown]
# # A hierarchical model that is no network
# Effects of coaching in eight schools (Rubin 1981): school effects around a common mean, with an unknown spread. NumPy
# and a gradient by hand; the Hessian comes from differences.
#
# Run: `python examples/python/hierarchical.py` (needs nothing but riemla).

# %%
import numpy as np

import riemla

effects = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
errors = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def loss(theta):
    """theta = mean, log of the spread, and eight standardised deviations."""
    mean, log_spread, z = theta[0], theta[1], theta[2:]
    spread = np.exp(log_spread)
    residual = (mean + spread * z - effects) / errors
    value = 0.5 * residual @ residual + 0.5 * z @ z + 0.5 * (mean / 20) ** 2 + 0.5 * (log_spread - 2) ** 2
    slope = residual / errors
    gradient = np.concatenate(
        [[slope.sum() + mean / 400], [spread * (slope @ z) + log_spread - 2], spread * slope + z]
    )
    return value, gradient


# %% A minimum by gradient descent with the Hessian by differences
theta = np.zeros(10)
theta[1] = 1.0
for _ in range(20000):
    theta -= 0.05 * loss(theta)[1]

posterior = riemla.from_function(loss, theta, parameters={"mean": (), "log_spread": (), "z": (8,)})
draws = posterior.sample(300, seed=1, strength="virial")
print(posterior)
print(f"virial ratio (1 is right): {draws.summary['virial_ratio']:.2f}")

# %% By name
schools = draws["mean"][:, None] + np.exp(draws["log_spread"])[:, None] * draws["z"]
print(f"common mean {draws['mean'].mean():.1f} ± {draws['mean'].std():.1f}")
for name, school in zip("ABCDEFGH", schools.T):
    low, high = np.quantile(school, [0.05, 0.95])
    print(f"school {name}: {school.mean():5.1f}, 90 % between {low:5.1f} and {high:4.1f}")
