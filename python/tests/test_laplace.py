"""Laplace approximations of networks of riemla's own."""

from __future__ import annotations

import json
import pickle
import subprocess

import numpy as np
import pytest

import riemla


@pytest.fixture(scope="module")
def fitted(moons, trained_moons):
    return riemla.Laplace(trained_moons, "classification", prior_precision=0.3).fit(*moons)


def test_training_reaches_a_minimum(moons, trained_moons):
    la = riemla.Laplace(trained_moons, "classification", prior_precision=0.3).fit(*moons)
    assert la.gradient_norm < 1e-3
    accuracy = (trained_moons(moons[0]).argmax(axis=1) == moons[1]).mean()
    assert accuracy > 0.9


def test_the_precision_is_that_of_the_ggn_by_differences(moons, trained_moons, fitted):
    x, _ = moons
    k = trained_moons.dim

    def outputs(theta):
        return trained_moons._core.forward(theta[None], x)[0]

    h = 1e-6
    columns = [(outputs(trained_moons.theta + h * e) - outputs(trained_moons.theta - h * e)) / (2 * h) for e in np.eye(k)]
    jacobian = np.stack(columns, axis=-1)
    logits = outputs(trained_moons.theta)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    ggn = 0.3 * np.eye(k)
    for j, q in zip(jacobian, p):
        ggn += j.T @ (np.diag(q) - np.outer(q, q)) @ j
    assert np.allclose(fitted.posterior_precision, ggn, rtol=1e-6, atol=1e-7)
    assert fitted.log_det_posterior_precision == pytest.approx(np.linalg.slogdet(ggn)[1], abs=1e-6)


def test_the_evidence_is_its_formula_and_largest_at_the_optimum(moons, trained_moons, fitted):
    x, y = moons
    logits = trained_moons(x)
    nll = (np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(60), y]).sum()
    k, delta = trained_moons.dim, 0.3
    by_hand = (
        -nll
        - 0.5 * delta * trained_moons.theta @ trained_moons.theta
        + 0.5 * k * np.log(delta)
        - 0.5 * fitted.log_det_posterior_precision
    )
    assert fitted.log_marginal_likelihood() == pytest.approx(by_hand, abs=1e-8)
    la = riemla.Laplace(trained_moons, "classification").fit(x, y)
    la.optimize_prior_precision()
    best, delta = la.log_marginal_likelihood(), la.prior_precision
    for factor in (0.8, 1.25):
        assert la.log_marginal_likelihood(delta * factor) < best
    la.optimize_prior_precision(prior_structure="layerwise")
    assert len(la.prior_precision) == 2 and la.log_marginal_likelihood() > best


def test_refitting_lets_the_weights_follow_the_prior(moons, trained_moons):
    la = riemla.Laplace(trained_moons, "classification").fit(*moons)
    la.optimize_prior_precision(refit=True)
    assert la.gradient_norm < 1e-2
    assert not np.array_equal(la.mean, trained_moons.theta)


@pytest.mark.parametrize("method", ["riem-la", "la", "lin-la", "lin-riem-la", "swag", "ensemble"])
@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_every_method_draws_and_predicts(moons, fitted, method):
    draws = fitted.sample(10, method=method, seed=1)
    assert draws.theta.shape == (10, 42) and draws.method == method
    p = fitted(moons[0])
    assert p.shape == (60, 2) and np.allclose(p.sum(axis=1), 1)
    # The plain Laplace approximation is known to predict badly.
    assert (p.argmax(axis=1) == moons[1]).mean() > (0.6 if method == "la" else 0.85)
    # The average over draws of their own probabilities.
    assert np.allclose(p, fitted.predictive_samples(moons[0]).mean(axis=0), atol=1e-12)


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_chains_are_drawn(moons, trained_moons):
    la = riemla.Laplace(trained_moons, "classification", "last_layer", prior_precision=0.3).fit(*moons)
    draws = la.sample(40, method="nuts", chains=2, warmup=100)
    assert draws.theta.shape == (40, 42) and set(draws.diagnostics["chain"]) == {0.0, 1.0}
    # Weights outside of the last layer stay.
    assert (draws["0.weight"] == draws["0.weight"][0]).all() and draws["2.weight"].std(axis=0).min() > 0
    with pytest.raises(ValueError, match="NUTS on 18 weights would take very long"):
        la.sample(10, method="nuts", max_weights=5)


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_batches_structures_and_metrics(moons, trained_moons):
    for structure in ("full", "kron", "diag", "lowrank"):
        la = riemla.Laplace(trained_moons, "classification", "all", structure, prior_precision=0.3, rank=10)
        draws = la.fit(*moons).sample(5, seed=1)
        assert np.isfinite(draws.theta).all()
    la = riemla.Laplace(trained_moons, "classification", prior_precision=0.3).fit(*moons)
    assert la.sample(5, batch_size=30).config["batch"] == {"size": 30, "design": "stratified", "length": "auto"}
    leverage = la.sample(5, batch_size=30, batch_design="leverage")
    assert leverage.config["batch"] == {"size": 30, "design": "leverage=0.5", "length": "auto"}
    auto = la.sample(5, batch_size="auto", batch_design="leverage=0.5")
    assert auto.config["batch"] == {"size": "auto", "design": "leverage=0.5", "length": "auto"}
    full = la.sample(5, batch_size=30, batch_length="full", strength=0.3)
    short = la.sample(5, batch_size=30, batch_length=0.5, strength=0.3)
    center = la.mean
    np.testing.assert_allclose(short.theta - center, 0.5 * (full.theta - center), atol=1e-12)
    assert short.summary["length"] == 0.5 and full.summary["length"] is None
    with pytest.raises(ValueError, match="batch_length needs a batch_size"):
        la.sample(5, batch_length="auto")
    with pytest.raises(ValueError, match="batch_design needs a batch_size"):
        la.sample(5, batch_design="uniform")
    with pytest.raises(ValueError, match="uniform, stratified, leverage or leverage=SHARE"):
        la.sample(5, batch_size=30, batch_design="random")
    assert la.sample(5, metric="loss", strength=1.0).summary["strength"] == 1.0
    assert la.sample(5, metric="fisher").config["metric"] == "fisher"
    named = riemla.Laplace(trained_moons, "classification", ["2.bias"], prior_precision=0.3).fit(*moons)
    assert named.n_uncertain == 2


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_products_in_single_precision(moons, tmp_path):
    network = riemla.Network.mlp([2, 40, 40, 2], "tanh")
    network.train(*moons, "classification", prior_precision=1.0)
    la = riemla.Laplace(network, "classification", "all", "kron", prior_precision=1.0).fit(*moons)
    settings = {"seed": 1, "strength": 0.2, "polish": 0}
    double = la.sample(4, **settings)
    assert "arithmetic" not in double.config
    assert (la.sample(4, arithmetic="double", **settings).theta == double.theta).all()
    single = la.sample(4, arithmetic="single", store=tmp_path / "posterior", **settings)
    assert single.config["arithmetic"] == "single"
    assert (single.theta != double.theta).any()
    np.testing.assert_allclose(single.diagnostics["loss_end"], double.diagnostics["loss_end"], rtol=1e-3)
    with pytest.raises(Exception, match="config.arithmetic was"):
        la.sample(4, store=tmp_path / "posterior", **settings)
    with pytest.raises(ValueError, match="arithmetic is 'half', but must be one of 'double', 'single'"):
        la.sample(4, arithmetic="half")
    with pytest.raises(ValueError, match="arithmetic is a setting of riem-la and its relatives, not of nuts"):
        la.sample(4, method="nuts", arithmetic="single")
    with pytest.raises(ValueError, match="la evaluates no loss"):
        la.sample(4, method="la", arithmetic="single")


def test_linearised_predictions_in_closed_form(moons, fitted):
    x, _ = moons
    mean, variance = fitted.functional_moments(x)
    shrunk = mean / np.sqrt(1 + np.pi / 8 * variance)
    expected = np.exp(shrunk) / np.exp(shrunk).sum(axis=1, keepdims=True)
    assert np.allclose(fitted(x, pred_type="glm", link_approx="probit"), expected, atol=1e-12)
    sampled = fitted(x, pred_type="glm", link_approx="mc", n_samples=4000)
    # The probit approximation itself is off by a few percent.
    assert np.abs(sampled - expected).max() < 0.1
    with pytest.raises(ValueError, match="'probit' goes with pred_type 'glm'"):
        fitted(x, pred_type="nn", link_approx="probit")


def test_uncertainty_has_two_parts(moons, fitted):
    fitted.sample(60, seed=1)
    near, far = fitted.predict(moons[0]), fitted.predict(moons[0] * 20)
    assert np.allclose(near.total, near.aleatoric + near.epistemic)
    assert far.epistemic.mean() > 2 * near.epistemic.mean()
    assert repr(near) == "<Prediction: 60 rows, 2 classes>"
    with pytest.raises(AttributeError, match="classes have no standard deviation"):
        near.std


def test_regression_has_means_variances_and_intervals(waves, trained_waves):
    network, found = trained_waves
    la = riemla.Laplace(
        network, "regression", prior_precision=found["prior_precision"], sigma_noise=found["sigma_noise"]
    ).fit(*waves)
    la.optimize_prior_precision()
    assert la.sigma_noise == pytest.approx(0.1, rel=0.5)
    la.sample(60, seed=1)
    mean, variance = la(waves[0])
    assert mean.shape == variance.shape == (50, 1)
    prediction = la.predict(waves[0])
    assert np.allclose(prediction.total, variance + la.sigma_noise**2)
    low, high = prediction.interval(0.9)
    inside = ((low < waves[1]) & (waves[1] < high)).mean()
    assert 0.75 < inside <= 1.0
    gap = la.predict(np.array([[0.15]])).epistemic[0, 0]
    assert gap > 3 * variance.mean()
    closed, closed_variance = la(waves[0], pred_type="glm")
    moments = la.functional_moments(waves[0])
    assert np.array_equal(closed, moments[0]) and np.array_equal(closed_variance, moments[1])


def test_a_single_output_is_the_logit_of_class_1(moons):
    network = riemla.Network.mlp([2, 6, 1], "tanh")
    x, y = moons
    la = riemla.Laplace(network, "classification")
    with pytest.warns(riemla.RiemlaWarning, match="not a minimum"):
        la.fit(x, y)
    p = la(x, pred_type="glm")
    assert p.shape == (60, 2) and np.allclose(p.sum(axis=1), 1)


def test_the_command_gives_the_same_bits(tmp_path, moons, trained_moons, command):
    la = riemla.Laplace(trained_moons, "classification", prior_precision=0.3).fit(*moons)
    la.save(tmp_path / "posterior")
    here = la.sample(25, seed=7)
    subprocess.run(
        [command, "sample", tmp_path / "posterior", "--samples", "25", "--seed", "7", "--quiet"], check=True
    )
    loaded = riemla.load(tmp_path / "posterior")
    there = loaded.draws(tmp_path / "posterior", "riem-la")
    assert np.array_equal(here.theta, there.theta)
    assert np.array_equal(here.diagnostics["loss_end"], there.diagnostics["loss_end"])
    assert np.array_equal(loaded(moons[0]), la(moons[0]))
    # And the other way round: the command goes on where Python stopped.
    la.sample(20, seed=3, method="lin-riem-la", store=tmp_path / "posterior")
    answer = subprocess.run(
        [command, "sample", tmp_path / "posterior", "--method", "lin-riem-la", "-n", "30", "--seed", "3", "--json"],
        check=True,
        capture_output=True,
    )
    assert json.loads(answer.stdout)["new_draws"] == 10
    assert np.array_equal(
        la.sample(30, seed=3, method="lin-riem-la").theta, la.draws(tmp_path / "posterior", "lin-riem-la").theta
    )


def test_posteriors_of_the_command_can_be_loaded(tmp_path, command):
    table = np.column_stack([np.linspace(-2, 2, 60), np.sin(np.linspace(-2, 2, 60)) * 50 + 200])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="x,y", comments="")
    for arguments in (
        ["train", "--data", "t.csv", "--target", "y", "--hidden", "5", "--validation", "0", "--out", "model"],
        ["fit", "model", "--data", "t.csv", "--out", "posterior"],
        ["sample", "posterior", "-n", "20"],
        ["predict", "posterior", "--data", "t.csv", "--out", "p.csv"],
    ):
        subprocess.run([command, *arguments, "--quiet"], cwd=tmp_path, check=True)
    la = riemla.load(tmp_path / "posterior")
    la.draws(tmp_path / "posterior")
    encoded = (table[:, :1] - table[:, 0].mean()) / table[:, 0].std()
    mean, _ = la(encoded)
    # In the units of the target.
    assert np.abs(mean[:, 0] - table[:, 1]).max() < 10
    assert riemla.Network.load(tmp_path / "model").dim == la.n_params


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_everything_fitted_pickles(moons, fitted):
    draws = fitted.sample(8, seed=1)
    copy = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copy.mean, fitted.mean) and np.array_equal(copy(moons[0]), fitted(moons[0]))
    assert np.array_equal(copy.sample(8, seed=1).theta, draws.theta)
    network = pickle.loads(pickle.dumps(fitted._network))
    assert np.array_equal(network.theta, fitted._network.theta)


def test_saving_replaces_only_what_riemla_wrote(tmp_path, fitted):
    fitted.save(tmp_path / "posterior")
    with pytest.raises(ValueError, match="posterior"):
        fitted.save(tmp_path / "posterior")
    fitted.save(tmp_path / "posterior", overwrite=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("two years")
    with pytest.raises(ValueError):
        fitted.save(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "two years"
    with pytest.raises(ValueError, match="is not a posterior directory"):
        riemla.load(tmp_path / "mine")


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_a_directory_of_another_posterior_is_refused(tmp_path, moons, trained_moons, fitted):
    fitted.sample(3, seed=1, store=tmp_path / "posterior")
    other = riemla.Laplace(trained_moons, "classification", prior_precision=0.4).fit(*moons)
    with pytest.raises(ValueError, match="holds another posterior: .*prior_precision"):
        other.sample(3, seed=1, store=tmp_path / "posterior")
