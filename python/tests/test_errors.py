"""Nothing ends the interpreter: every mistake raises, and these are the words."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import riemla
from riemla import _core
from riemla._sampling import Request


def fine(theta):
    return 0.5 * theta @ theta, theta


class Liar:
    """Says it has two entries, and has three."""

    shape = (2,)
    ndim = 1
    dtype = np.dtype(float)

    def __len__(self):
        return 2

    def __array__(self, dtype=None, copy=None):
        return np.zeros(3)


class Broken:
    def __array__(self, dtype=None, copy=None):
        raise OSError("the disk is gone")


@pytest.mark.parametrize(
    ("theta", "words"),
    [
        ([], r"theta is empty: shape \(0,\)"),
        ([[0.0, 0.0]], r"theta: expected 1 dimensions, got shape \(1, 2\)"),
        (0.0, r"theta: expected 1 dimensions, got shape \(\)"),
        ([0.0, np.nan], r"theta: entry \[1\] is nan; remove or impute such entries first"),
        ([np.inf, 0.0], r"theta: entry \[0\] is inf"),
        (["a", "b"], "theta must hold numbers, not <U1"),
        ([1j, 0], "theta: complex numbers are not supported"),
        (Broken(), "theta cannot be read as an array: the disk is gone"),
        ([object()], "theta must hold numbers, not object"),
    ],
)
def test_wrong_thetas(theta, words):
    with pytest.raises(ValueError, match=words):
        riemla.from_function(fine, theta)


@pytest.mark.parametrize(
    ("precision", "words"),
    [
        (np.eye(3), r"precision: expected shape \(2, 2\) or \(2,\), got \(3, 3\)"),
        (np.ones(3), r"precision: expected shape \(2, 2\) or \(2,\), got \(3,\)"),
        (np.ones((2, 3)), r"precision: expected shape \(2, 2\) or \(2,\), got \(2, 3\)"),
        (np.zeros((2, 2, 2)), r"precision: expected shape \(K, K\) or \(K,\), got \(2, 2, 2\)"),
        (-np.eye(2), "the precision is not positive definite: pivot 0 of 2"),
        (np.zeros(2), "not positive definite: pivot 0 of 2"),
        ([[1.0, 0.5], [0.0, 1.0]], r"entries \(1, 0\) and \(0, 1\) differ by 5.000e-1, but a precision is symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], r"precision: entry \[0, 1\] is nan"),
        (np.zeros((0, 0)), "precision is empty"),
        ("ggn", "precision must hold numbers"),
        (riemla.LowRankPrecision(np.ones(3), np.ones((1, 3))), "precision: expected 2 weights, got 3"),
        (riemla.KroneckerPrecision([np.eye(3)]), "precision: expected 2 weights, got 3"),
    ],
)
def test_wrong_precisions(precision, words):
    with pytest.raises(ValueError, match=words):
        riemla.from_function(fine, np.zeros(2), precision)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0, 1.0], np.ones((1, 2))), r"diagonal: entry \[0\] is 0.0, but must be above 0"),
        ((np.ones(2), np.ones((1, 3))), r"vectors must have shape \(1, 2\)"),
        ((np.ones(2), np.ones((1, 2)), [-1.0]), r"values: entry \[0\] is -1.0, but must be at least 0"),
    ],
)
def test_wrong_low_rank_precisions(arguments, words):
    with pytest.raises(ValueError, match=words):
        riemla.LowRankPrecision(*arguments)


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([(np.eye(2), np.ones((2, 3)))], "A of block 0 must be square and symmetric"),
        ([(-np.eye(2), np.eye(2))], "B of block 0 must be positive semi-definite"),
        ([(np.eye(2),) * 3], r"block 0: expected \(B, A\) or B, got 3 matrices"),
    ],
)
def test_wrong_kronecker_precisions(blocks, words):
    with pytest.raises(ValueError, match=words):
        riemla.KroneckerPrecision(blocks)


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (3, TypeError, "value_and_grad must be callable, not int"),
        (lambda t: 0.5, TypeError, r"the function must return \(value, gradient\), not float"),
        (lambda t: (0.5, t, t), TypeError, r"must return \(value, gradient\), not tuple"),
        (lambda t: None, TypeError, r"must return \(value, gradient\), not NoneType"),
        (lambda t: (0.5, t[:1]), ValueError, r"gradient that the function returned: expected shape \(2,\), got \(1,\)"),
        (lambda t: (0.5, t[None]), ValueError, r"expected shape \(2,\), got \(1, 2\)"),
        (lambda t: (0.5, Liar()), ValueError, r"expected shape \(2,\), got \(3,\)"),
        (lambda t: (0.5, "abc"), TypeError, "the gradient must be an array of numbers"),
        (lambda t: (0.5, None), ValueError, r"gradient that the function returned: expected shape \(2,\), got \(\)"),
        (lambda t: ("a", t), (TypeError, ValueError), "one number|could not convert"),
        (lambda t: (np.nan, t), ValueError, "the function is nan at theta, but must be finite there"),
        (lambda t: (np.inf, t), ValueError, "the function is inf at theta"),
    ],
)
def test_wrong_functions(function, kind, words):
    with pytest.raises(kind, match=words):
        riemla.from_function(function, np.zeros(2)).sample(5)


def test_a_function_that_is_wrong_only_later():
    calls = []

    def shrinks(theta):
        calls.append(0)
        return 0.5 * theta @ theta, theta if len(calls) < 20 else theta[:1]

    with pytest.raises(ValueError, match=r"expected shape \(2,\), got \(1,\)"):
        riemla.from_function(shrinks, np.zeros(2), np.eye(2)).sample(50)


def test_arguments_of_functions_are_their_own():
    seen = []

    def destroys(theta):
        seen.append(theta)
        result = 0.5 * theta @ theta, theta.copy()
        theta[:] = np.nan
        return result

    draws = riemla.from_function(destroys, np.zeros(2), np.eye(2)).sample(20, seed=1)
    assert np.array_equal(draws.theta, riemla.from_function(fine, np.zeros(2), np.eye(2)).sample(20, seed=1).theta)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(4)[::2],
        np.zeros(2, dtype=np.float32),
        np.zeros(2, dtype=np.int8),
        np.zeros(2, dtype=bool),
        np.zeros(2, dtype=">f8"),
        np.asfortranarray(np.zeros((2, 2)))[0],
        [0, 0],
        (0.0, 0.0),
        np.ma.masked_array([0.0, 0.0]),
    ],
)
def test_arrays_of_all_kinds_are_taken(array):
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    draws = riemla.from_function(fine, array, np.eye(2)).sample(20, seed=1)
    assert np.array_equal(draws.theta, riemla.from_function(fine, np.zeros(2), np.eye(2)).sample(20, seed=1).theta)


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"n_samples": 0}, ValueError, "n_samples is 0, but must be from 1 to 1000000"),
        ({"n_samples": -3}, ValueError, "n_samples is -3"),
        ({"n_samples": 2.5}, TypeError, "n_samples must be a whole number, not 2.5"),
        ({"n_samples": True}, TypeError, "n_samples must be a whole number"),
        ({"seed": -1}, ValueError, "seed is -1, but must be at least 0"),
        ({"seed": "x"}, TypeError, "seed must be a whole number"),
        ({"seed": 2**64}, ValueError, "seed is 18446744073709551616"),
        ({"method": "magic"}, ValueError, "method is 'magic', but must be one of 'riem-la', 'la', 'map'"),
        ({"method": "swag"}, ValueError, "method is 'swag', but must be one of"),
        ({"metric": "round"}, ValueError, "metric is 'round', but must be one of 'auto', 'preconditioned', 'loss', 'fisher'"),
        ({"metric": "fisher"}, ValueError, "this model has no Fisher metric"),
        ({"metric": "loss", "method": "la"}, ValueError, "metric is a setting of geodesics, not of la"),
        ({"strength": "strong"}, ValueError, "strength is 'strong', but must be one of 'auto'"),
        ({"strength": -1.0}, ValueError, "strength is -1.0, but must be finite and above 0"),
        ({"strength": "held-out"}, ValueError, "a held-out strength needs held-out data"),
        ({"tolerance": 0}, ValueError, "tolerance is 0.0, but must be finite and above 0"),
        ({"max_steps": 0}, ValueError, "max_steps is 0, but must be at least 1"),
        ({"n_threads": 0}, ValueError, "n_threads is 0, but must be at least 1"),
        ({"seconds": "soon"}, TypeError, "seconds must be a number"),
        ({"seconds": 0}, ValueError, "seconds is 0.0, but must be finite and above 0"),
        ({"store": "/dev/null/x"}, OSError, "/dev/null/x"),
    ],
)
def test_wrong_settings_of_sampling(settings, kind, words):
    posterior = riemla.from_function(fine, np.zeros(2), np.eye(2))
    with pytest.raises(kind, match=words):
        posterior.sample(**settings)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ((object(), "classification"), TypeError, "model must be a torch.nn.Module or a riemla.Network, not object"),
        (("net", "tea leaves"), ValueError, "likelihood is 'tea leaves', but must be one of 'classification', 'regression'"),
        (("net", "classification", "some"), ValueError, "subset_of_weights is 'some', but must be one of 'all', 'last-layer'"),
        (("net", "classification", "all", "gp"), ValueError, "hessian_structure is 'gp', but must be one of 'full', 'kron'"),
    ],
)
def test_wrong_laplaces(arguments, kind, words):
    network = riemla.Network.mlp([2, 3, 2])
    arguments = tuple(network if a == "net" else a for a in arguments)
    with pytest.raises(kind, match=words):
        riemla.Laplace(*arguments)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.zeros((5, 3)), np.zeros(5, int), r"X: expected 2 numbers per row, got 3 \(shape \(5, 3\)\)"),
        (np.zeros((5, 2)), np.zeros(4, int), "y: expected 5 labels"),
        (np.zeros((5, 2)), [0, 1, 2, 1, 0], "label 2 of row 2 is out of range: the network has 2 classes"),
        (np.zeros((5, 2)), [0, 1, -1, 1, 0], "label -1 of row 2 is negative: labels count from 0"),
        (np.zeros((5, 2)), ["a"] * 5, "class labels must be whole numbers counted from 0, not <U1"),
        (np.zeros((5, 2)), [0.5] * 5, "class labels must be whole numbers"),
        (np.zeros((5, 2)), np.zeros((5, 2), int), "y: expected one label per row"),
        (np.full((5, 2), np.nan), np.zeros(5, int), r"X: entry \[0, 0\] is nan; remove or impute"),
        (np.zeros((0, 2)), np.zeros(0, int), r"X is empty: shape \(0, 2\)"),
        (np.zeros(5), np.zeros(5, int), "X: expected one row per sample"),
    ],
)
def test_wrong_data(x, y, words):
    la = riemla.Laplace(riemla.Network.mlp([2, 3, 2]), "classification")
    with pytest.raises(ValueError, match=words):
        la.fit(x, y)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(4), r"sample_weight: expected shape \(5,\), got \(4,\)"),
        ([1, 1, -1, 1, 1], "weights? of (a )?samples?.*-1"),
        (np.zeros(5), "above 0 for at least one sample"),
        ([1, 1, np.nan, 1, 1], r"sample_weight: entry \[2\] is nan"),
        (np.ones((5, 1)), "sample_weight: expected 1 dimensions"),
    ],
)
def test_wrong_weights_of_rows(weights, words):
    la = riemla.Laplace(riemla.Network.mlp([2, 3, 2]), "classification")
    with pytest.raises(ValueError, match=words):
        la.fit(np.zeros((5, 2)), [0, 1, 0, 1, 0], sample_weight=weights)


def test_wrong_targets_of_regressions():
    la = riemla.Laplace(riemla.Network.mlp([2, 3, 1]), "regression")
    with pytest.raises(ValueError, match=r"y: expected shape \(5, 1\), got \(5, 2\)"):
        la.fit(np.zeros((5, 2)), np.zeros((5, 2)))
    with pytest.raises(ValueError, match=r"y: entry \[0\] is nan"):
        la.fit(np.zeros((5, 2)), [np.nan] * 5)
    with pytest.raises(ValueError, match="sigma_noise is 0.0, but must be finite and above 0"):
        riemla.Laplace(riemla.Network.mlp([2, 3, 1]), "regression", sigma_noise=0)


def test_wrong_loaders():
    la = riemla.Laplace(riemla.Network.mlp([2, 3, 2]), "classification")
    with pytest.raises(TypeError, match=r"give targets as well: fit\(X, y\)"):
        la.fit(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="train_loader has no batches"):
        la.fit([])
    with pytest.raises(TypeError, match=r"train_loader: expected batches \(X, y\), got dict"):
        la.fit([{"x": 1}])
    with pytest.raises(TypeError, match="sparse arrays are not supported"):
        sparse = pytest.importorskip("scipy.sparse")
        la.fit(sparse.eye(2, format="csr"), [0, 1])


def test_what_needs_a_fit_says_so():
    la = riemla.Laplace(riemla.Network.mlp([2, 3, 2]), "classification")
    for call in (la.sample, la.log_marginal_likelihood, la.optimize_prior_precision, lambda: la(np.zeros((1, 2)))):
        with pytest.raises(RuntimeError, match="not fitted yet: call fit"):
            call()
    assert repr(la) == "<Laplace: classification, not fitted>"


def test_wrong_networks():
    with pytest.raises(ValueError, match="network: unknown variant `magic`"):
        riemla.Network(2, [{"type": "magic"}])
    with pytest.raises(ValueError, match="sizes is .* but needs at least"):
        riemla.Network.mlp([2])
    with pytest.raises(ValueError, match="activation is 'step'"):
        riemla.Network.mlp([2, 3, 2], "step")
    with pytest.raises(ValueError, match="theta: expected 8 weights, got 3"):
        riemla.Network(3, [{"type": "linear", "outputs": 2}], theta=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="input is 0, but must be at least 1"):
        riemla.Network(0, [{"type": "linear", "outputs": 2}])
    with pytest.raises(ValueError, match="inputs: expected 3 numbers per row, got 2"):
        riemla.Network.mlp([3, 2])(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="at most 2|larger|memory|size"):
        riemla.Network(10**9, [{"type": "linear", "outputs": 10**9}])


def test_memory_that_is_not_there_is_an_exception():
    # 8 TB of curvature.
    network = riemla.Network.mlp([1000, 1000, 2])
    la = riemla.Laplace(network, "classification")
    with pytest.raises(MemoryError, match="only .* are available; these would fit: .*kron"):
        la.fit(np.zeros((3, 1000)), [0, 1, 0])


def test_arrays_are_checked_again_behind_the_python_side():
    network = _core.Network('{"input": 2, "layers": [{"type": "linear", "outputs": 2}]}')
    with pytest.raises(ValueError, match=r"theta: expected shape \(draws, 6\), got \(1, 5\)"):
        network.forward(np.zeros((1, 5)), np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"inputs: expected shape \(rows, 2\), got \(1, 3\)"):
        network.forward(np.zeros((1, 6)), np.zeros((1, 3)))
    with pytest.raises(TypeError):
        network.forward(np.zeros((1, 6), dtype=np.float32), np.zeros((1, 2)))
    # Columns one after the other, every other row, backwards: the same numbers.
    x = np.arange(12.0).reshape(6, 2)
    theta = np.arange(6.0)[None]
    expected = network.forward(theta, x)
    assert np.array_equal(network.forward(theta, np.asfortranarray(x)), expected)
    assert np.array_equal(network.forward(theta, x[::-1]), expected[:, ::-1])
    with pytest.raises(ValueError, match="is no file of a posterior"):
        _core.Fitted.from_files([("../escape", b"")])


def test_a_missing_package_is_named_with_its_extra():
    program = textwrap.dedent(
        """
        import sys
        for name in ("torch", "laplace", "sklearn", "arviz", "tqdm", "scipy", "pandas", "jax"):
            sys.modules[name] = None
        import numpy as np, riemla
        posterior = riemla.from_function(lambda t: (0.5 * t @ t, t), np.zeros(2), np.eye(2))
        draws = posterior.sample(20, seed=1)
        for call, extra in (
            (lambda: riemla.RiemlaClassifier, "sklearn"),
            (lambda: riemla.from_laplace(None, None), "torch"),
            (draws.to_arviz, "arviz"),
            (lambda: list(draws.state_dicts()), "torch"),
            (lambda: posterior.sample(5, progress=True), "progress"),
        ):
            try:
                call()
            except ImportError as error:
                assert f"pip install 'riemla[{extra}]'" in str(error), error
            else:
                raise AssertionError(extra)
        print("named")
        """
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.stdout.strip() == "named", result.stderr


@pytest.mark.parametrize(("elsewhere", "where"), [(False, "here"), (True, "elsewhere")])
def test_a_panic_is_an_exception_that_says_whose_mistake_it_is(elsewhere, where):
    with pytest.raises(RuntimeError, match=f"a defect of riemla .*provoked {where}.*not your mistake: please report"):
        _core.provoke_defect(elsewhere)


def test_nonsense_behind_the_python_side():
    function = _core.Function(fine, None, None, np.zeros(2), None, [("p", np.eye(2))], 1, None, None)
    riem_la = _core.run_config("riem-la", None)
    with pytest.raises(TypeError):
        function.sample(Request(riem_la, 5, 1, None, watcher=3))
    with pytest.raises((TypeError, AttributeError)):
        function.sample(riem_la)
    with pytest.raises(ValueError, match="settings of the method"):
        function.sample(Request("{", 5, 1, None))
    with pytest.raises(ValueError, match="swag trains a network again"):
        function.sample(Request(_core.run_config("swag", None), 5, 1, None))
    with pytest.raises(ValueError, match="settings of the posterior"):
        function.drawer("{")
    garbled = lambda config, indices: iter([([b"no draw"], [])])  # noqa: E731
    with pytest.raises(RuntimeError, match="a record of another format"):
        function.sample(Request(riem_la, 5, 1, None, elsewhere=garbled))
    with pytest.raises(ValueError, match="the address of the compiled function is 0"):
        _core.Function(fine, None, 0, np.zeros(2), None, [("p", np.eye(2))], 1, None, None)
