"""Posteriors of functions: draws, exceptions, domains, threads, interruption, files."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import riemla


def gaussian(theta):
    return 0.5 * theta @ (SCALES * theta), SCALES * theta


SCALES = np.array([1.0, 4.0, 0.25])


def banana(theta):
    x, y = theta
    d = y - x * x
    return 0.5 * x * x + 8 * d * d, np.array([x - 32 * x * d, 16 * d])


def test_gaussian_draws_have_the_moments_of_the_gaussian():
    posterior = riemla.from_function(gaussian, np.zeros(3), SCALES)
    for method in ("la", "riem-la"):
        theta = posterior.sample(2000, method=method, seed=3).theta
        assert theta.shape == (2000, 3) and theta.flags.c_contiguous
        z = theta.mean(axis=0) * np.sqrt(SCALES * 2000)
        assert np.abs(z).max() < 4
        # A variance of 2000 draws has a relative standard error of 3 %.
        assert np.abs(theta.var(axis=0) * SCALES - 1).max() < 0.15


def test_polished_draws_come_closer_to_the_density(tmp_path):
    posterior = riemla.from_function(banana, np.zeros(2), [1.0, 16.0])
    draws = posterior.sample(300, method="la", seed=1, polish=400)
    # Exact draws: x normal, y of mean 1; the mean of 300 has a standard error of √(2 + 1/16)/√300 = 0.083.
    assert draws.theta[:, 1].mean() == pytest.approx(1.0, abs=4 * 0.083)
    assert draws.summary["polish"]["draws"] == 300 and draws.summary["polish"]["acceptance"] > 0.4
    assert (draws.diagnostics["polish_gradients"] > 200).all()
    again = posterior.sample(20, method="la", seed=1, polish=400, n_threads=1)
    assert (again.theta == draws.theta[:20]).all()
    posterior.sample(5, method="la", seed=1, polish="auto", store=tmp_path)
    assert json.loads((tmp_path / "polish.json").read_text())["settled"] is not None
    for wrong in ("many", -3):
        with pytest.raises(ValueError, match="polish"):
            posterior.sample(5, polish=wrong)
    # By default draws of riem-la are polished, others are not.
    assert posterior.sample(2, seed=1).summary["polish"]["draws"] == 2
    assert posterior.sample(2, seed=1, polish=0).summary["polish"] is None
    assert posterior.sample(2, method="la", seed=1).summary["polish"] is None


def test_the_hessian_by_differences_is_the_precision():
    found = riemla.from_function(gaussian, np.zeros(3))
    assert found.log_det_precision == pytest.approx(np.log(SCALES).sum(), abs=1e-7)
    dense = riemla.from_function(gaussian, np.zeros(3), np.diag(SCALES))
    assert dense.log_det_precision == pytest.approx(np.log(SCALES).sum(), abs=1e-12)


def test_geodesics_follow_a_banana_where_a_gaussian_does_not():
    posterior = riemla.from_function(banana, np.zeros(2))
    draws = posterior.sample(400, seed=1, metric="loss")
    with pytest.warns(riemla.RiemlaWarning, match="overshoot"):
        flat = posterior.sample(400, method="la", seed=1)
    # The mean of the second coordinate is 1; a Gaussian at the minimum has 0 there, and leaves the valley.
    assert abs(flat.theta[:, 1].mean()) < 0.05 and draws.theta[:, 1].mean() > 0.2
    assert flat.summary["virial_ratio"] > 20 and draws.summary["virial_ratio"] == pytest.approx(1.0, abs=0.4)


def test_chains_of_a_function_have_its_moments_and_are_kept(tmp_path):
    posterior = riemla.from_function(gaussian, np.zeros(3), SCALES)
    draws = posterior.sample(1000, method="nuts", seed=1, chains=2, warmup=300, store=tmp_path)
    # About as many independent draws: a mean has a standard error of 3 % of a standard deviation, a variance of 4.5 %.
    assert np.abs(draws.theta.mean(axis=0) * np.sqrt(SCALES)).max() < 0.16
    assert np.abs(draws.theta.var(axis=0) * SCALES - 1).max() < 0.25
    assert draws.summary["chains"]["chains"] == 2 and draws.summary["chains"]["predictions"] is None
    again = posterior.sample(1000, method="nuts", seed=1, chains=2, warmup=300, store=tmp_path)
    assert (again.theta == draws.theta).all()
    with pytest.raises(ValueError, match="max-weights"):
        posterior.sample(10, method="nuts", max_weights=2)
    with pytest.raises(TypeError, match="no setting 'epochs'"):
        posterior.sample(10, method="nuts", epochs=3)
    with pytest.raises(ValueError, match="method is 'swag'"):
        posterior.sample(10, method="swag")
    # An exception of the function comes out of the chains too.
    calls = []

    def breaks(theta):
        calls.append(1)
        if len(calls) > 500:
            raise RuntimeError("no more")
        return gaussian(theta)

    with pytest.raises(RuntimeError, match="no more"):
        riemla.from_function(breaks, np.zeros(3), SCALES).sample(1000, method="nuts", chains=2, warmup=300)


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads():
    posterior = riemla.from_function(banana, np.zeros(2))
    one = posterior.sample(20, seed=5, n_threads=1)
    many = posterior.sample(20, seed=5, n_threads=3)
    assert np.array_equal(one.theta, many.theta)
    assert not np.array_equal(one.theta, posterior.sample(20, seed=6).theta)
    assert np.array_equal(posterior.sample(30, seed=5).theta[:20], one.theta)


def test_structured_precisions_are_their_dense_matrices():
    rng = np.random.default_rng(0)
    u, d, gamma = rng.normal(size=(2, 6)), rng.uniform(0.5, 2, size=6), np.array([3.0, 0.5])
    dense = np.diag(d) + u.T @ np.diag(gamma) @ u
    a, b, c = (m @ m.T for m in (rng.normal(size=(3, 3)), rng.normal(size=(2, 2)), rng.normal(size=(2, 2))))
    blocks = np.zeros((8, 8))
    blocks[:6, :6], blocks[6:, 6:] = np.kron(b, a), c
    blocks += 0.3 * np.eye(8)
    for structured, matrix in (
        (riemla.LowRankPrecision(d, u, gamma), dense),
        (riemla.KroneckerPrecision([(b, a), c], prior_precision=0.3), blocks),
    ):
        k = len(matrix)
        function = lambda t, m=matrix: (0.5 * t @ m @ t, m @ t)  # noqa: E731
        posterior = riemla.from_function(function, np.zeros(k), structured)
        assert posterior.log_det_precision == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-10)
        theta = posterior.sample(4000, method="la", seed=2).theta
        # The mean of theta' P theta over K is 1 with a standard error of sqrt(2 / K / 4000), and each product counts.
        products = np.einsum("si,ij,sj->s", theta, matrix, theta) / k
        assert products.mean() == pytest.approx(1.0, abs=4 * np.sqrt(2 / k / 4000))
        assert np.allclose(theta.T @ theta / 4000, np.linalg.inv(matrix), atol=0.15 * np.linalg.inv(matrix).max())


def test_parameters_have_names_and_views():
    posterior = riemla.from_function(gaussian, np.zeros(3), SCALES, parameters={"a": (), "w": (2, 1)})
    draws = posterior.sample(25, seed=1)
    assert draws["a"].shape == (25,) and draws["w"].shape == (25, 2, 1)
    assert np.shares_memory(draws["w"], draws.theta)
    assert list(draws.keys()) == ["a", "w"] and "a" in draws
    with pytest.raises(KeyError, match="no parameter 'b'; there are 'a', 'w'"):
        draws["b"]
    with pytest.raises(ValueError, match="parameters have 2 numbers together, but theta has 3"):
        riemla.from_function(gaussian, np.zeros(3), SCALES, parameters={"a": (2,)})


class Special(Exception):
    """An exception of a user."""


def test_exceptions_come_out_as_themselves():
    calls = []

    def fails(theta):
        calls.append(0)
        if len(calls) > 30:
            raise Special("the license server is down")
        return banana(theta)

    posterior = riemla.from_function(fails, np.zeros(2), np.eye(2))
    with pytest.raises(Special, match="the license server is down") as caught:
        posterior.sample(50, seed=1)
    assert any("fails" in str(entry.name) for entry in caught.traceback)
    # One that failed can be used again.
    calls.clear()
    with pytest.raises(Special):
        posterior.sample(50, seed=1)


def test_outside_of_the_domain_geodesics_turn_or_are_redrawn():
    def half_line(theta):
        if theta[0] <= 0:
            raise riemla.OutsideDomain("above 0 only")
        return theta[0] - np.log(theta[0]), 1 - 1 / theta

    def with_nan(theta):
        return half_line(theta) if theta[0] > 0 else (np.nan, theta)

    for function in (half_line, with_nan):
        posterior = riemla.from_function(function, np.ones(1))
        # A sixth of the draws of the Gaussian are outside.
        theta = posterior.sample(300, seed=1, polish=0).theta
        assert (theta > 0).all() and 0.5 < theta.std() < 1.5


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_a_cheaper_value_changes_nothing():
    plain = riemla.from_function(banana, np.zeros(2), np.eye(2)).sample(10, seed=1)
    seen = []

    def value(theta):
        seen.append(theta)
        return banana(theta)[0]

    cheap = riemla.from_function(banana, np.zeros(2), np.eye(2), value=value).sample(10, seed=1)
    assert seen and np.array_equal(plain.theta, cheap.theta)


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_a_compiled_function_runs_without_the_lock():
    numba = pytest.importorskip("numba")

    @numba.cfunc("float64(intp, CPointer(float64), CPointer(float64))")
    def compiled(n, theta, gradient):
        x, y = theta[0], theta[1]
        d = y - x * x
        gradient[0] = x - 32 * x * d
        gradient[1] = 16 * d
        return 0.5 * x * x + 8 * d * d

    found = riemla.from_function(compiled, np.zeros(2), np.eye(2)).sample(10, seed=1)
    assert np.array_equal(found.theta, riemla.from_function(banana, np.zeros(2), np.eye(2)).sample(10, seed=1).theta)
    wrong = numba.cfunc("float64(float64)")(lambda x: x)
    with pytest.raises(TypeError, match="has the signature .* -> float64, but must have"):
        riemla.from_function(wrong, np.zeros(2))


@pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")
def test_draws_are_kept_in_a_directory_and_continued(tmp_path):
    posterior = riemla.from_function(banana, np.zeros(2))
    whole = posterior.sample(30, seed=4)
    first = posterior.sample(10, seed=4, store=tmp_path / "set")
    assert np.array_equal(first.theta, whole.theta[:10])
    calls = []

    def counted(theta):
        calls.append(0)
        return banana(theta)

    again = riemla.from_function(counted, np.zeros(2))
    before = len(calls)
    kept = again.sample(10, seed=4, store=tmp_path / "set")
    # Nothing is drawn again: a few evaluations to look at the draws.
    assert np.array_equal(kept.theta, whole.theta[:10]) and len(calls) - before < 50
    assert np.array_equal(again.sample(30, seed=4, store=tmp_path / "set").theta, whole.theta)
    with pytest.raises(ValueError, match="another|differ"):
        riemla.from_function(gaussian, np.zeros(3), SCALES).sample(5, seed=4, store=tmp_path / "set")


def test_a_killed_run_continues(tmp_path):
    program = textwrap.dedent(
        """
        import sys, time, numpy as np, riemla
        def slow(theta):
            time.sleep(0.001)
            x, y = theta
            d = y - x * x
            return 0.5 * x * x + 8 * d * d, np.array([x - 32 * x * d, 16 * d])
        posterior = riemla.from_function(slow, np.zeros(2))
        print("ready", flush=True)
        posterior.sample(10_000, seed=4, store=sys.argv[1])
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "set")], stdout=subprocess.PIPE)
    assert child.stdout.readline().strip() == b"ready"
    deadline = time.time() + 60
    while time.time() < deadline and not any(
        path.stat().st_size > 2000 for path in (tmp_path / "set").glob("*") if path.is_file()
    ):
        time.sleep(0.05)
    child.kill()
    child.wait()
    posterior = riemla.from_function(banana, np.zeros(2))
    kept = posterior.sample(30, seed=4, store=tmp_path / "set")
    assert np.array_equal(kept.theta, posterior.sample(30, seed=4).theta)


def test_ctrl_c_keeps_what_is_finished():
    program = textwrap.dedent(
        """
        import os, signal, threading, time, numpy as np, riemla
        # A shell that runs the tests in the background has them ignore it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        def slow(theta):
            time.sleep(0.001)
            return 0.5 * theta @ theta, theta
        posterior = riemla.from_function(slow, np.zeros(2), np.eye(2))
        threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        draws = posterior.sample(100_000, seed=1, strength=1.0, polish=0)
        assert draws.stopped and 0 < len(draws) < 100_000, draws
        assert "interrupted" in draws.warnings[0]
        assert draws.theta.shape == (len(draws), 2)
        def stuck(theta):
            time.sleep(0.05)
            return 0.5 * theta @ theta, theta
        posterior = riemla.from_function(stuck, np.zeros(2), np.eye(2))
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            posterior.sample(100, seed=1, polish=0)
        except KeyboardInterrupt:
            print("nothing to keep")
        """
    )
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=120)
    assert result.stdout.strip() == "nothing to keep", result.stderr


def test_time_that_is_over_keeps_what_is_finished():
    def slow(theta):
        time.sleep(0.001)
        return 0.5 * theta @ theta, theta

    with pytest.warns(riemla.RiemlaWarning, match="the time was over"):
        draws = riemla.from_function(slow, np.zeros(2), np.eye(2)).sample(100_000, strength=1.0, polish=0, seconds=1.0)
    assert draws.out_of_time and 0 < len(draws) < 100_000


def test_progress_is_reported_and_its_exceptions_come_out():
    events = []
    posterior = riemla.from_function(gaussian, np.zeros(3), SCALES)
    posterior.sample(50, seed=1, progress=lambda *event: events.append(event))
    # The first draws have the last word on the strength, then come the others.
    begun = [number for kind, text, number in events if (kind, text) == ("begin", "drawing from riem-la")]
    assert sum(begun) == 50
    assert sum(number for kind, _, number in events if kind == "step") == 50

    def breaks(*event):
        raise Special("the screen is off")

    with pytest.raises(Special, match="the screen is off"):
        posterior.sample(50, seed=1, progress=breaks)
    pytest.importorskip("tqdm")
    posterior.sample(20, seed=1, progress=True)


def test_other_threads_of_the_interpreter_go_on():
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.005):
            ticks.append(0)

    thread = threading.Thread(target=tick)
    posterior = riemla.from_function(gaussian, np.zeros(3), SCALES)
    thread.start()
    posterior.sample(5_000, method="riem-la", seed=1, strength=1.0)
    stop.set()
    thread.join()
    # None if the lock were held.
    assert len(ticks) > 10


def _in_child(posterior):
    return posterior.sample(20, seed=1).theta


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_children_can_sample(start):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {start}")
    posterior = riemla.from_function(gaussian, np.zeros(3), SCALES)
    here = posterior.sample(20, seed=1).theta
    with multiprocessing.get_context(start).Pool(1) as pool:
        assert np.array_equal(pool.apply(_in_child, (posterior,)), here)


def test_posteriors_and_draws_pickle():
    posterior = riemla.from_function(gaussian, np.zeros(3), SCALES, parameters={"a": (3,)})
    draws = posterior.sample(20, seed=1)
    again = pickle.loads(pickle.dumps(posterior)).sample(20, seed=1)
    assert np.array_equal(draws.theta, again.theta)
    kept = pickle.loads(pickle.dumps(draws))
    assert np.array_equal(kept["a"], draws["a"]) and kept.summary == draws.summary


def test_every_object_says_something_about_itself():
    posterior = riemla.from_function(gaussian, np.zeros(3), SCALES)
    assert repr(posterior) == "<Posterior of a function of 3 parameters>"
    with pytest.warns(riemla.RiemlaWarning, match="only 5 draws"):
        draws = posterior.sample(5, seed=1)
    assert repr(draws) == "<Draws: 5 of riem-la, 3 weights, seed 1, 1 warnings>"
    page = draws._repr_html_()
    assert "virial_ratio" in page and "only 5 draws" in page
    assert json.loads(json.dumps(draws.config))["method"] == "riem-la"
