"""Packages that riemla can use but does not need."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {package}, which cannot be imported ({error}); "
            f"install it with: pip install 'riemla[{extra}]'"
        ) from error


def is_tensor(value: Any) -> bool:
    """Whether this is a torch tensor; torch is not imported for it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
