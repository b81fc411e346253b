"""Settings of methods, in the words of the command line, as the JSON that the library reads."""

from __future__ import annotations

import json
import math
from typing import Any

from . import _core

GEODESICS = ("riem-la", "lin-riem-la")
POSTERIORS = ("riem-la", "lin-riem-la", "la", "lin-la", "map")
REFERENCES = ("nuts", "swag", "ensemble")
_RULES = {"auto": "typical", "virial": "virial", "held-out": "held-out", "loss-rise": "loss-rise"}
_ARITHMETICS = ("double", "single")
_METRICS = ("auto", "preconditioned", "loss", "fisher")


def one_of(what: str, value: Any, known: tuple[str, ...]) -> str:
    """A word among those known; the members of laplace-torch's enums are such words."""
    word = getattr(value, "value", value)
    if isinstance(word, str) and word.replace("_", "-") in known:
        return word.replace("_", "-")
    raise ValueError(f"{what} is {value!r}, but must be one of {', '.join(map(repr, known))}")


def whole(what: str, value: Any, least: int = 0, most: int = 2**64 - 1) -> int:
    """A whole number in a range."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be a whole number, not {value!r}")
    number = int(value.__index__())
    if not least <= number <= most:
        allowed = f"at least {least}" if most >= 2**63 else f"from {least} to {most}"
        raise ValueError(f"{what} is {number}, but must be {allowed}")
    return number


def positive(what: str, value: Any) -> float:
    """A finite number above 0."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} must be a number, not {value!r}") from error
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{what} is {number}, but must be finite and above 0")
    return number


def _strength(value: Any) -> Any:
    if not isinstance(value, str):
        return {"fixed": positive("strength", value)}
    if value not in _RULES:
        raise ValueError(f"strength is {value!r}, but must be one of {', '.join(map(repr, _RULES))}, or a number above 0")
    return {_RULES[value]: {}}


def _polish(value: Any) -> Any:
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"polish is {value!r}, but must be 'auto' or a number of gradients")
        return {"length": "auto"}
    gradients = whole("polish", value, 0, 1_000_000)
    return {"length": {"gradients": gradients}} if gradients else None


def _batch_length(value: Any) -> str | float:
    """The length of draws on batches, as in files."""
    if value is None:
        return "auto"
    return str(value) if isinstance(value, str) else positive("batch_length", value)


def run_config(
    method: Any,
    *,
    metric: Any = None,
    strength: Any = None,
    tolerance: float | None = None,
    max_steps: int | None = None,
    batch_size: int | str | None = None,
    batch_design: str | None = None,
    batch_length: str | float | None = None,
    polish: int | str | None = None,
    arithmetic: str | None = None,
    methods: tuple[str, ...] = POSTERIORS + REFERENCES,
    **options: Any,
) -> str:
    """The settings of a method in JSON; what is not given is as on the command line."""
    method = one_of("method", method, methods)
    if metric is not None:
        metric = one_of("metric", metric, _METRICS)
    config: dict[str, Any] = json.loads(_core.run_config(method, metric))
    if method == "swag" and batch_size is not None:
        config["batch_size"], batch_size = whole("batch_size", batch_size, 1), None
    geodesic = {
        "metric": metric,
        "strength": strength,
        "tolerance": tolerance,
        "max_steps": max_steps,
        "batch_size": batch_size,
        "batch_design": batch_design,
        "batch_length": batch_length,
    }
    given = [name for name, value in geodesic.items() if value is not None]
    if given and method not in GEODESICS:
        raise ValueError(f"{given[0]} is a setting of geodesics, not of {method}")
    if strength is not None:
        if metric == "fisher":
            raise ValueError("the Fisher metric has no strength: leave it out")
        config["strength"] = _strength(strength)
    if polish is not None:
        if method in REFERENCES:
            raise ValueError(f"polish is a setting of riem-la and its relatives, not of {method}")
        config["polish"] = _polish(polish)
    if arithmetic is not None:
        arithmetic = one_of("arithmetic", arithmetic, _ARITHMETICS)
        if method in REFERENCES:
            raise ValueError(f"arithmetic is a setting of riem-la and its relatives, not of {method}")
        config["arithmetic"] = arithmetic
    if batch_size is not None:
        if polish is None:
            config["polish"] = None
        size = batch_size if batch_size == "auto" else whole("batch_size", batch_size, 1)
        config["batch"] = {"size": size, "length": _batch_length(batch_length)}
        if batch_design is not None:
            config["batch"]["design"] = str(batch_design)
    elif batch_design is not None or batch_length is not None:
        name = "batch_length" if batch_design is None else "batch_design"
        raise ValueError(f"{name} needs a batch_size: a number of rows, or 'auto'")
    for name, value in (("tolerance", tolerance), ("max_steps", max_steps)):
        if value is None:
            continue
        solver = config["integrator"]
        key = "rtol" if name == "tolerance" and "rtol" in solver else name
        solver[key] = positive(name, value) if name == "tolerance" else whole(name, value, 1)
    target = config if method in REFERENCES else {}
    for name, value in options.items():
        place = target.get("training", target) if name == "iterations" else target
        if name not in place:
            raise TypeError(f"{method} has no setting {name!r}")
        place[name] = value
    return json.dumps(config)
