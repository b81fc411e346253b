from collections.abc import Callable
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Watcher = Callable[[str, str, int], None]
_Path = str | PathLike[str]

__all__ = [
    "Fitted",
    "Function",
    "Network",
    "count_intervals",
    "read_model",
    "predict_outputs",
    "provoke_defect",
    "run_config",
    "train",
    "VERSION",
]

VERSION: str

@final
class Fitted:
    @staticmethod
    def fit(
        network: str,
        theta: _Floats,
        likelihood: str,
        prior_precision: str,
        inputs: _Floats,
        labels: list[int] | None,
        values: _Floats | None,
        weights: _Floats | None,
        config: str,
        threads: int | None,
        watcher: _Watcher | None,
    ) -> Fitted: ...
    def refit(
        self, likelihood: str, prior_precision: str, config: str, threads: int | None, watcher: _Watcher | None
    ) -> Fitted: ...
    @staticmethod
    def load(directory: _Path) -> Fitted: ...
    def save(self, directory: _Path, overwrite: bool) -> None: ...
    def to_files(self) -> list[tuple[str, bytes]]: ...
    @staticmethod
    def from_files(contents: list[tuple[str, bytes]]) -> Fitted: ...
    @property
    def network(self) -> str: ...
    @property
    def likelihood(self) -> str: ...
    @property
    def prior_precision(self) -> str: ...
    @property
    def config(self) -> str: ...
    @property
    def encoding(self) -> str | None: ...
    @property
    def theta(self) -> _Floats: ...
    @property
    def uncertain(self) -> list[tuple[int, int]]: ...
    @property
    def log_marginal_likelihood(self) -> float | None: ...
    @property
    def gradient_norm(self) -> float: ...
    @property
    def log_det(self) -> float: ...
    @property
    def rows(self) -> int: ...
    @property
    def warnings(self) -> list[str]: ...
    def precision(self) -> tuple[str, list[tuple[str, _Floats]]]: ...
    def sample(
        self,
        config: str,
        samples: int,
        seed: int,
        seconds: float | None,
        most_weights: int,
        store: _Path | None,
        name: str | None,
        threads: int | None,
        watcher: _Watcher | None,
    ) -> dict[str, Any]: ...
    def read_draws(self, directory: _Path, name: str) -> dict[str, Any]: ...
    def predict(self, theta: _Floats, linearized: bool, inputs: _Floats, threads: int | None) -> dict[str, Any]: ...
    def predict_closed_form(self, inputs: _Floats, threads: int | None) -> dict[str, Any]: ...
    def moments(self, inputs: _Floats, threads: int | None) -> tuple[_Floats, _Floats]: ...
    def outputs(self, theta: _Floats, linearized: bool, inputs: _Floats, threads: int | None) -> _Floats: ...

@final
class Function:
    def __new__(
        cls,
        value_and_grad: Callable[..., Any],
        value: Callable[..., Any] | None,
        address: int | None,
        theta: _Floats,
        structure: str | None,
        arrays: list[tuple[str, _Floats]] | None,
        rank: int,
        threads: int | None,
        watcher: _Watcher | None,
    ) -> Function: ...
    @property
    def dim(self) -> int: ...
    @property
    def theta(self) -> _Floats: ...
    @property
    def log_det(self) -> float: ...
    def precision(self) -> tuple[str, list[tuple[str, _Floats]]]: ...
    def value_and_gradient(self, theta: _Floats) -> tuple[float, _Floats]: ...
    def sample(
        self,
        config: str,
        samples: int,
        seed: int,
        seconds: float | None,
        store: _Path | None,
        threads: int | None,
        watcher: _Watcher | None,
    ) -> dict[str, Any]: ...

@final
class Network:
    def __new__(cls, spec: str) -> Network: ...
    @property
    def spec(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def inputs(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def parameters(self) -> list[tuple[str, list[int]]]: ...
    @property
    def smoothness_warning(self) -> str | None: ...
    def initialize(self, seed: int) -> _Floats: ...
    def forward(self, theta: _Floats, inputs: _Floats) -> _Floats: ...

def predict_outputs(outputs: _Floats, sigma_noise: float | None) -> dict[str, Any]: ...
def provoke_defect(elsewhere: bool) -> None: ...
def read_model(directory: _Path) -> tuple[str, _Floats, str, str]: ...
def run_config(method: str, metric: str | None) -> str: ...
def count_intervals(rates: _Floats, variances: _Floats, level: float) -> tuple[_Floats, _Floats]: ...
def train(
    network: str,
    inputs: _Floats,
    labels: list[int] | None,
    values: _Floats | None,
    weights: _Floats | None,
    likelihood: str | None,
    prior_precision: float | None,
    iterations: int,
    seed: int,
    threads: int | None,
    watcher: _Watcher | None,
) -> dict[str, Any]: ...
