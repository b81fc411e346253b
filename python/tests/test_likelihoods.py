"""Counts, labels, and noise per output or input: thin wrappers of what the library does."""

import numpy as np
import pytest
import riemla

ROWS = 120


def inputs(seed=0):
    return np.random.default_rng(seed).normal(size=(ROWS, 2))


def fitted(likelihood, outputs, y, **options):
    x = inputs()
    network = riemla.Network.mlp([2, 4, outputs], "tanh")
    found = network.train(x, y, likelihood, **options)
    noise = {"sigma_noise": found["sigma_noise"]} if "sigma_noise" in found else {}
    la = riemla.Laplace(network, likelihood, prior_precision=found["prior_precision"], **noise)
    return la.fit(x, y), x


def test_counts():
    y = np.random.default_rng(1).poisson(np.exp(0.5 + 0.7 * inputs()[:, 0]))
    la, x = fitted("poisson", 1, y)
    la.sample(8, strength=0.1)
    found = la.predict(x)
    assert found.mean.shape == (ROWS, 1) and np.all(found.mean > 0)
    assert np.allclose(found.aleatoric, found.mean) and np.allclose(found.total, found.aleatoric + found.epistemic)
    low, high = found.interval(0.9)
    assert np.all(low == np.round(low)) and np.all(low >= 0) and np.all(high >= low)
    assert np.mean((y[:, None] >= low) & (y[:, None] <= high)) > 0.85
    assert np.allclose(la.predictive_samples(x).mean(axis=0), found.mean)
    # In closed form the rate is log-normal.
    mean, variance = la.functional_moments(x)
    assert np.allclose(la.predict(x, "glm").mean, np.exp(mean + variance / 2))
    with pytest.raises(ValueError, match="count"):
        la.fit(x, y - 1)


def test_labels():
    x = inputs()
    y = np.column_stack([x[:, 0] > 0, x[:, 1] > 0.3]).astype(float)
    la, x = fitted("multi-label", 2, y)
    la.sample(8, strength=0.1)
    found = la.predict(x)
    assert found.probabilities.shape == (ROWS, 2) and found.epistemic.shape == (ROWS, 2)
    assert np.mean((found.probabilities > 0.5) == (y > 0.5)) > 0.9
    assert np.allclose(la.predictive_samples(x).mean(axis=0), found.probabilities)
    assert la(x, "glm").shape == (ROWS, 2)
    assert np.all(np.isfinite(la.optimize_prior_precision() or la.log_marginal_likelihood()))


def test_noise_per_output():
    x, noise = inputs(), np.random.default_rng(2).normal(size=(ROWS, 2))
    y = np.column_stack([x[:, 0], x[:, 1]]) + noise * [0.1, 1.0]
    la, x = fitted("regression", 2, y, noise_per_output=True)
    first, second = la.sigma_noise
    assert abs(first / 0.1 - 1) < 0.3 and abs(second - 1) < 0.3
    assert np.allclose(la.predict(x, "glm").aleatoric, np.square(la.sigma_noise))
    la.optimize_prior_precision()
    assert len(la.sigma_noise) == 2
    with pytest.raises(ValueError, match="noise_per_output"):
        riemla.Network.mlp([2, 1]).train(x, np.ones(ROWS), "poisson", noise_per_output=True)


def test_noise_of_the_input(tmp_path):
    x = inputs()
    e = np.random.default_rng(3).normal(size=ROWS)
    y = x[:, 1] + e * np.where(x[:, 0] > 0, 1.0, 0.1)
    la, x = fitted("heteroscedastic", 2, y)
    la.sample(8, strength=0.1)
    found = la.predict(x)
    assert found.mean.shape == (ROWS, 1) and la.predictive_samples(x).shape == (8, ROWS, 1)
    right = x[:, 0] > 0.5
    assert found.aleatoric[right].mean() > 4 * found.aleatoric[~right].mean()
    la.save(tmp_path / "posterior")
    again = riemla.load(tmp_path / "posterior")
    assert again.likelihood == "heteroscedastic"
    assert np.array_equal(again.predict(x, "glm").total, la.predict(x, "glm").total)
    with pytest.raises(ValueError, match=r"expected shape \(120, 1\)"):
        la.fit(x, np.ones((ROWS, 2)))
