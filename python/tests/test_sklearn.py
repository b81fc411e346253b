"""The estimators against scikit-learn's own checks, and in its machinery."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import riemla

pytest.importorskip("sklearn", reason="pip install 'riemla[sklearn]'")

from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_diabetes, load_iris  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_predict  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import PolynomialFeatures  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

SMALL = {"hidden_layer_sizes": (5,), "n_draws": 8, "random_state": 0, "max_iter": 300}


REASON = (
    "training shuffles rows into batches: two equal rows and one of weight 2 have the same loss but end in different minima"
)
EXPECTED = {"check_sample_weight_equivalence_on_dense_data": REASON}


@parametrize_with_checks(
    [riemla.RiemlaClassifier(**SMALL), riemla.RiemlaRegressor(**SMALL)], expected_failed_checks=lambda _: EXPECTED
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_frames_and_words_as_labels(iris):
    pandas = pytest.importorskip("pandas")
    x, y = iris
    frame = pandas.DataFrame(x, columns=["a", "b", "c", "d"])
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = riemla.RiemlaClassifier(**SMALL).fit(frame, pandas.Series(names))
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    assert set(model.predict(frame)) == {"setosa", "versicolor", "virginica"}
    assert model.score(frame, names) > 0.95
    numbers = riemla.RiemlaClassifier(**SMALL).fit(x, y)
    assert np.array_equal(numbers.predict_proba(x), model.predict_proba(frame))


def test_pipelines_searches_and_cross_validation(iris):
    x, y = iris
    rows = np.arange(0, 150, 3)
    model = make_pipeline(PolynomialFeatures(1, include_bias=False), riemla.RiemlaClassifier(**SMALL))
    p = cross_val_predict(model, x[rows], y[rows], cv=3, method="predict_proba")
    assert p.shape == (50, 3) and (p.argmax(axis=1) == y[rows]).mean() > 0.85
    search = GridSearchCV(riemla.RiemlaClassifier(**SMALL), {"hidden_layer_sizes": [(3,), (5,)]}, cv=2, n_jobs=2)
    search.fit(x[rows], y[rows])
    assert search.best_score_ > 0.8


def test_uncertainty_grows_away_from_the_data(iris):
    x, y = iris
    model = riemla.RiemlaClassifier(**(SMALL | {"n_draws": 30})).fit(x, y)
    near, far = model.uncertainty(x), model.uncertainty(x * 30)
    assert np.allclose(near["total"], near["aleatoric"] + near["epistemic"])
    assert far["epistemic"].mean() > near["epistemic"].mean()
    assert model.prior_precision_ > 0 and np.isfinite(model.log_marginal_likelihood_)
    same = clone(model).fit(x, y)
    assert np.array_equal(same.predict_proba(x), model.predict_proba(x))
    kept = pickle.loads(pickle.dumps(model))
    assert np.array_equal(kept.predict_proba(x), model.predict_proba(x))


def test_regression_in_the_units_of_the_target():
    x, y = load_diabetes(return_X_y=True)
    model = riemla.RiemlaRegressor(**SMALL).fit(x[:300], y[:300])
    assert model.score(x[300:], y[300:]) > 0.35
    mean, std = model.predict(x[300:], return_std=True)
    assert mean.shape == std.shape == (142,) and 40 < model.sigma_noise_ < 70
    low, high = model.predict_interval(x[300:], 0.9)
    assert 0.8 < ((low < y[300:]) & (y[300:] < high)).mean() < 0.98
    parts = model.uncertainty(x[300:])
    assert np.allclose(np.sqrt(parts["total"]), std)
    two = riemla.RiemlaRegressor(**SMALL).fit(x[:100], np.column_stack([y, -2 * y])[:100])
    assert two.predict(x[:5]).shape == (5, 2) and two.sigma_noise_.shape == (2,)
    with pytest.raises(ValueError, match="level is 1.5"):
        model.predict_interval(x, 1.5)


def test_weights_of_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1))
    y = 2 * x[:, 0] + np.where(np.arange(40) < 20, 5.0, -5.0)
    weights = np.where(np.arange(40) < 20, 1.0, 1e-6)
    model = riemla.RiemlaRegressor(**SMALL).fit(x, y, sample_weight=weights)
    assert np.abs(model.predict(x[:20]) - y[:20]).mean() < 1
    # Rows without weight are as if they were not there.
    zero = riemla.RiemlaRegressor(**SMALL).fit(x, y, sample_weight=np.where(weights < 1, 0.0, 1.0))
    ones = riemla.RiemlaRegressor(**SMALL).fit(x[:20], y[:20], sample_weight=np.ones(20))
    assert np.array_equal(zero.predict(x), ones.predict(x))
    with pytest.raises(ValueError, match="at least one non-zero number"):
        riemla.RiemlaRegressor(**SMALL).fit(x, y, sample_weight=np.zeros(40))


def test_weights_of_classes():
    # Classes that overlap, one of them rare.
    y = np.repeat([0, 1], [60, 15])
    x = np.random.default_rng(0).normal(size=(75, 1)) + y[:, None]
    counts = np.bincount(y)
    balanced = riemla.RiemlaClassifier(**SMALL, class_weight="balanced").fit(x, y)
    by_hand = riemla.RiemlaClassifier(**SMALL).fit(x, y, sample_weight=(len(y) / (2 * counts))[y])
    named = riemla.RiemlaClassifier(**SMALL, class_weight={k: len(y) / (2 * n) for k, n in enumerate(counts)}).fit(x, y)
    p = by_hand.predict_proba(x)
    assert np.array_equal(balanced.predict_proba(x), p) and np.array_equal(named.predict_proba(x), p)
    plain = riemla.RiemlaClassifier(**SMALL).fit(x, y).predict_proba(x)
    assert p[:, 1].mean() > plain[:, 1].mean() + 0.1, "a rare class that counts more is expected more often"
    # Both weights count.
    weights = np.linspace(0.5, 1.5, len(y))
    both = riemla.RiemlaClassifier(**SMALL, class_weight={1: 2.0}).fit(x, y, sample_weight=weights)
    product = riemla.RiemlaClassifier(**SMALL).fit(x, y, sample_weight=np.where(y == 1, 2.0, 1.0) * weights)
    assert np.array_equal(both.predict_proba(x), product.predict_proba(x))
    with pytest.raises(ValueError, match="class_weight"):
        riemla.RiemlaClassifier(**SMALL, class_weight="even").fit(x, y)


def test_a_row_of_weight_two_is_two_rows(iris):
    x, y = iris
    network = riemla.Network.mlp([4, 3, 3])
    twice = riemla.Laplace(network, "classification", prior_precision=1.0)
    weighted = riemla.Laplace(network, "classification", prior_precision=1.0)
    with pytest.warns(riemla.RiemlaWarning):
        twice.fit(np.concatenate([x, x[:50]]), np.concatenate([y, y[:50]]))
        weighted.fit(x, y, sample_weight=np.where(np.arange(150) < 50, 2.0, 1.0))
    assert np.allclose(weighted.posterior_precision, twice.posterior_precision, rtol=1e-12)
    assert weighted.log_marginal_likelihood() == pytest.approx(twice.log_marginal_likelihood(), rel=1e-12)


def test_dask_and_joblib(iris):
    joblib = pytest.importorskip("joblib")
    x, y = iris
    model = riemla.RiemlaClassifier(**SMALL).fit(x, y)
    results = joblib.Parallel(n_jobs=2)(joblib.delayed(model.predict_proba)(x[i::2]) for i in range(2))
    assert np.array_equal(results[0], model.predict_proba(x[::2]))
    distributed = pytest.importorskip("distributed", reason="pip install 'riemla[dask]'")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            assert np.array_equal(client.submit(model.predict_proba, x).result(), model.predict_proba(x))


def test_mistakes_are_named(iris):
    x, y = iris
    with pytest.raises(ValueError, match="activation is 'cube', but must be one of 'tanh'"):
        riemla.RiemlaClassifier(activation="cube").fit(x, y)
    with pytest.raises(ValueError, match="n_draws is 0, but must be at least 1"):
        riemla.RiemlaClassifier(**(SMALL | {"n_draws": 0})).fit(x, y)
    with pytest.raises(ValueError, match="method is 'magic'"):
        riemla.RiemlaClassifier(**(SMALL | {"method": "magic"})).fit(x, y)
