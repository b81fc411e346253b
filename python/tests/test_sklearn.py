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


# No check is expected to fail.
@parametrize_with_checks([riemla.RiemlaClassifier(**SMALL), riemla.RiemlaRegressor(**SMALL)])
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
