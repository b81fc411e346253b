"""Golden numbers of likelihoods and generalised linear models: writes likelihoods.json.

Log-likelihoods by scipy.stats and by torch's losses, weights of regularised generalised linear models by scikit-learn,
and moments of predictive distributions by scipy. Run: python testdata/likelihoods.py
"""

import json
import pathlib
import platform

import numpy as np
import scipy
import scipy.stats as st
import sklearn
import torch
from sklearn.linear_model import LogisticRegression, PoissonRegressor

rng = np.random.default_rng(20261117)
n, outputs = 12, 3
f = rng.normal(size=(n, outputs))
values = rng.normal(size=(n, outputs))
counts = rng.poisson(np.exp(f)).astype(float)
labels = (rng.random((n, outputs)) < 0.5).astype(float)
logs = 0.7 * rng.normal(size=(n, outputs))
sigmas = np.array([0.3, 1.1, 2.0])
t = torch.tensor


def both(scipy_value, torch_value):
    assert abs(scipy_value - torch_value) < 1e-9 * abs(scipy_value), (scipy_value, torch_value)
    return float(scipy_value)


poisson = torch.nn.PoissonNLLLoss(log_input=True, full=False, reduction="sum")(t(f), t(counts)).item()
log_likelihoods = {
    "gaussian-per-output": both(
        st.norm.logpdf(values, f, sigmas).sum(),
        -torch.nn.GaussianNLLLoss(full=True, reduction="sum")(t(f), t(values), t(sigmas**2).expand(n, outputs)).item(),
    ),
    "heteroscedastic": both(
        st.norm.logpdf(values, f, np.exp(0.5 * logs)).sum(),
        -torch.nn.GaussianNLLLoss(full=True, reduction="sum")(t(f), t(values), t(np.exp(logs))).item(),
    ),
    # torch's constant is Stirling's approximation: it is compared without.
    "poisson": both(
        st.poisson.logpmf(counts, np.exp(f)).sum(), -poisson - scipy.special.gammaln(counts + 1.0).sum()
    ),
    "multi-label": both(
        st.bernoulli.logpmf(labels, scipy.special.expit(f)).sum(),
        -torch.nn.BCEWithLogitsLoss(reduction="sum")(t(f), t(labels)).item(),
    ),
}

# A Poisson regression. scikit-learn minimises mean deviance/2 + alpha/2 |w|^2 and leaves the intercept free: here the
# data have a column of ones instead, so that all weights have the same penalty alpha * n.
rows, alpha = 60, 0.05
x = np.column_stack([rng.normal(size=(rows, 3)), np.ones(rows)])
y = rng.poisson(np.exp(x @ np.array([0.5, -0.3, 0.1, 0.8]))).astype(float)
weights = rng.integers(1, 4, rows).astype(float)
fit = PoissonRegressor(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=10000).fit(x, y)
# With weights the mean is over their sum.
weighted = PoissonRegressor(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=10000).fit(x, y, sample_weight=weights)

# Several labels are as many logistic regressions of one label each; C is 1 / prior precision.
yes = (rng.random((rows, 2)) < scipy.special.expit(x @ rng.normal(size=(4, 2)))).astype(int)
precision = 0.4
logistic = [
    LogisticRegression(C=1.0 / precision, fit_intercept=False, tol=1e-12, max_iter=10000).fit(x, yes[:, k]).coef_[0].tolist()
    for k in range(2)
]

# Counts whose rate is gamma distributed with a mean and a variance.
cases = []
for mean, variance in [(0.3, 0.0), (3.0, 0.0), (3.0, 2.0), (0.5, 0.01), (40.0, 300.0), (900.0, 1.0), (5000.0, 1e6)]:
    if variance == 0.0:
        law = st.poisson(mean)
    else:
        shape = mean**2 / variance
        law = st.nbinom(shape, shape / (shape + mean))
    at = [0, 1, int(mean), int(2 * mean + 3)]
    quantiles = [0.025, 0.5, 0.975]
    cases.append(
        {
            "mean": mean,
            "variance": variance,
            "counts": at,
            "log_probabilities": [float(v) for v in law.logpmf(at)],
            "shares": quantiles,
            "quantiles": [float(v) for v in law.ppf(quantiles)],
        }
    )

made = {
    "made_by": "testdata/likelihoods.py",
    "versions": {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
    },
    "outputs": f.ravel().tolist(),
    "log_variances": logs.ravel().tolist(),
    "sigmas": sigmas.tolist(),
    "values": values.ravel().tolist(),
    "counts": counts.ravel().tolist(),
    "labels": labels.ravel().tolist(),
    "log_likelihoods": log_likelihoods,
    "poisson_regression": {
        "x": x.ravel().tolist(),
        "y": y.tolist(),
        "sample_weight": weights.tolist(),
        "prior_precision": alpha * rows,
        "weights": fit.coef_.tolist(),
        "prior_precision_weighted": alpha * float(weights.sum()),
        "weights_weighted": weighted.coef_.tolist(),
    },
    "logistic_regressions": {
        "labels": yes.astype(float).ravel().tolist(),
        "prior_precision": precision,
        "weights": logistic,
    },
    "gamma_poisson": cases,
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(made, indent=1) + "\n")
