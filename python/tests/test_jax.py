"""Jitted functions of JAX."""

from __future__ import annotations

import numpy as np
import pytest

import riemla

jax = pytest.importorskip("jax", reason="pip install jax")
import jax.numpy as jnp  # noqa: E402


@pytest.fixture
def x64():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def test_jax_gives_the_draws_of_the_network_path(x64, moons, trained_moons):
    x, y = (jnp.asarray(part) for part in moons)

    def loss(theta):
        w1, b1, w2, b2 = theta[:16].reshape(8, 2), theta[16:24], theta[24:40].reshape(2, 8), theta[40:]
        logits = jnp.tanh(x @ w1.T + b1) @ w2.T + b2
        nll = (jax.nn.logsumexp(logits, axis=1) - logits[jnp.arange(60), y]).sum()
        return nll + 0.5 * 0.3 * theta @ theta

    la = riemla.Laplace(trained_moons, "classification", prior_precision=0.3).fit(*moons)
    # Without polish, whose mass is another for networks than for functions.
    here = la.sample(20, seed=1, strength=0.2, polish=0)
    function = jax.jit(jax.value_and_grad(loss))
    posterior = riemla.from_function(function, jnp.asarray(la.mean), la.posterior_precision)
    there = posterior.sample(20, seed=1, strength=0.2, polish=0)
    # Rounding, amplified by the geodesics and their step control.
    assert np.abs(here.theta - there.theta).max() < 1e-3 * np.abs(here.theta).max()
    hessian = riemla.from_function(function, la.mean)
    exact = np.linalg.slogdet(np.asarray(jax.hessian(loss)(jnp.asarray(la.mean))))[1]
    assert hessian.log_det_precision == pytest.approx(exact, rel=1e-6)


def test_32_bit_functions_are_warned_of():
    if jax.config.jax_enable_x64:
        pytest.fail("x64 is on outside of its fixture")
    function = jax.jit(jax.value_and_grad(lambda t: 0.5 * (t * t).sum()))
    with pytest.warns(riemla.RiemlaWarning, match="32-bit floats.*jax_enable_x64"):
        posterior = riemla.from_function(function, np.zeros(2), np.eye(2))
    assert posterior.sample(20, seed=1).theta.shape == (20, 2)
