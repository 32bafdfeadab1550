"""Samplers by name or import path, their state derived from the seed and the batch."""

import importlib
import importlib.util
import inspect
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler

from codesign.errors import UsageError, did_you_mean
from codesign.registry import contained

TORCH_MISSING: Final = (
    "sampler gp needs PyTorch; its CPU build is enough:\n"
    "  pip install torch --index-url https://download.pytorch.org/whl/cpu\n"
    "(or pip install 'codesign[gp]', which takes the registry's own build)"
)


def make_sampler(name: str, seed: int, batch: int) -> BaseSampler:
    """Return the sampler for one batch of trials.

    A sampler made afresh for every batch has no state of its own: what it suggests follows from
    the seed, the batch and the trials told before, so that a study continued after a crash goes on
    as if nothing had happened.

    Parameters
    ----------
    name : str
        ``tpe``, ``gp``, ``nsga2``, ``qmc``, ``random``, or an import path such as
        ``optuna.samplers.CmaEsSampler`` or ``package.module:Class``.
    seed : int
        Of the study.
    batch : int
        Which batch it is for, from 0.

    Raises
    ------
    UsageError
        If there is no such sampler, or it needs what is not installed.
    """
    own = int(np.random.SeedSequence([seed, batch]).generate_state(1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # chosen on purpose
        if name == "qmc":  # one sequence over the whole study: it counts its points in the study
            return optuna.samplers.QMCSampler(scramble=True, seed=seed)
        if name in _NAMED:
            return _NAMED[name](own)
        return _imported(name, own)


def check_sampler(name: str) -> None:
    """Raise the error that `make_sampler` would, before anything is written."""
    make_sampler(name, 0, 0)


def _gp(seed: int) -> BaseSampler:
    if importlib.util.find_spec("torch") is None:
        raise UsageError(TORCH_MISSING)
    return optuna.samplers.GPSampler(seed=seed, deterministic_objective=True)


_NAMED: Final[dict[str, Callable[[int], BaseSampler]]] = {
    "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True),
    "gp": _gp,
    "nsga2": lambda seed: optuna.samplers.NSGAIISampler(seed=seed),
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}

SAMPLERS: Final = (*_NAMED, "qmc")


def _imported(path: str, seed: int) -> BaseSampler:
    module_name, _, class_name = path.replace(":", ".").rpartition(".")
    if not module_name:
        hint = did_you_mean(path, SAMPLERS)
        raise UsageError(
            f"unknown sampler {path!r}{hint}; known: {', '.join(SAMPLERS)}, or an import path such "
            "as optuna.samplers.CmaEsSampler"
        )
    try:
        module = contained(f"sampler {path}", lambda: importlib.import_module(module_name))
        kind: Any = getattr(module, class_name)
        if not (isinstance(kind, type) and issubclass(kind, BaseSampler)):  # and is not called
            raise UsageError(f"sampler {path} is not an Optuna sampler")
        options = {"seed": seed} if "seed" in inspect.signature(kind).parameters else {}
        return kind(**options)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"sampler {path}: {error}") from error
