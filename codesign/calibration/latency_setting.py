"""What latency files were measured on: from the user, checked against what the files say."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic import TypeAdapter, ValidationError

from codesign.architectures import load_architecture
from codesign.architectures.lookup import list_architectures
from codesign.architectures.sized import dense_of_size
from codesign.calibration.latency_points import LatencyPoint
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.step_coordinates import Setting
from codesign.draft_model import make_drafting
from codesign.errors import DataError, UsageError
from codesign.hardware import load_hardware
from codesign.model.parameters import expert_parameters
from codesign.model.routing import GENERIC_ROUTER, RouterParameters, router_from_window_correlation
from codesign.replica import resolve_replica
from codesign.spec.architecture import Architecture
from codesign.spec.draft import AnyDraft, Draft
from codesign.spec.hardware import Deployment
from codesign.spec.load import validation_message
from codesign.spec.precision import BYTES_PER_ELEMENT, Dtype
from codesign.spec.study import Study

DEFAULT_ARCHITECTURE: Final = str(Study.model_fields["reference"].default)


def single(points: Sequence[LatencyPoint], field: str, what: str) -> str | None:
    """Return the one model or engine that the files name; nothing where none does.

    Raises
    ------
    DataError
        If they name several.
    """
    named: dict[str, str] = {}
    for point in points:
        value = getattr(point, field)
        if value is not None:
            named.setdefault(value, point.source)
    if len(named) > 1:
        told = ", ".join(f"{value} ({source})" for value, source in named.items())
        raise DataError(f"the files are of different {what}: {told}; calibrate each on its own")
    return next(iter(named), None)


def measured_model(
    points: Sequence[LatencyPoint], options: CalibrationOptions
) -> tuple[Architecture | None, list[str]]:
    """Return the architecture that was measured, and warnings.

    The user's, else the bundled one whose name the files give; the default reference only where
    constants are to be fitted and the files name no model.
    """
    told = single(points, "model", "models")
    bundled = told.rsplit("/", 1)[-1].lower() if told else None
    if bundled not in list_architectures():
        bundled = None
    if options.architecture is not None:
        chosen = load_architecture(options.architecture)
        other = bundled is not None and load_architecture(bundled).name != chosen.name
        warning = f"the files say model {told}, --arch says {chosen.name}; --arch is taken"
        return chosen, [warning] if other else []
    if bundled is not None:
        return load_architecture(bundled), []
    if options.hardware is None:
        return None, []
    named = f"the files' model {told!r} is not bundled" if told else "no file names its model"
    return load_architecture(DEFAULT_ARCHITECTURE), [
        f"{named} and no --arch is given: {DEFAULT_ARCHITECTURE}, the default, is taken"
    ]


def setting_of(model: Architecture, engine: str | None, options: CalibrationOptions) -> Setting:
    """Resolve the replica and the draft that were measured.

    Raises
    ------
    UsageError
        If a name, a degree or a draft is not valid.
    """
    assert options.hardware is not None
    backend = options.backend or engine or "vllm"
    gpus = options.gpus or max(options.tensor_parallel or 1, options.expert_parallel or 1)
    try:
        deployment = Deployment.from_data(
            {
                "gpus": gpus,
                "tensor_parallel": options.tensor_parallel,
                "expert_parallel": options.expert_parallel or 1,
                "backend": backend,
                "dtype": options.dtype,
            }
        )
        draft: Draft = TypeAdapter(AnyDraft).validate_python(options.draft)
    except ValidationError as error:
        raise UsageError(validation_message(error)) from None
    drafter = None
    if draft.model is not None:
        drafter = dense_of_size(draft.model, model) or load_architecture(draft.model)
    replica = resolve_replica(load_hardware(options.hardware), deployment, model, gpus, drafter)
    return Setting(model, replica, router_of_model(model), make_drafting(draft, model, drafter))


def router_of_model(model: Architecture) -> RouterParameters:
    """Return the router published for a model, else the generic one."""
    if model.routing is None:
        moe = model.moe
        if moe is None:
            return GENERIC_ROUTER
        return replace(GENERIC_ROUTER, groups=moe.groups, groups_per_token=moe.groups_per_token)
    return router_from_window_correlation(model.routing.window_correlation)


def expert_shape(model: Architecture | None, options: CalibrationOptions) -> tuple[int, int] | None:
    """Return N and k: as given, else the model's; nothing where unknown or dense."""
    if options.experts is not None and options.top_k is not None:
        return options.experts, options.top_k
    if model is None or model.moe is None:
        return None
    return model.moe.experts, model.moe.top_k


def expert_bytes(model: Architecture, options: CalibrationOptions) -> float:
    """Weights of one routed expert on one GPU [B]."""
    moe = model.moe
    assert moe is not None
    precision = model.precision.of("routed_experts")
    try:
        dtype = TypeAdapter(Dtype).validate_python(options.dtype or precision)
    except ValidationError as error:
        raise UsageError(f"--dtype: {validation_message(error)}") from None
    cut = (options.gpus or options.tensor_parallel or 1) / (options.expert_parallel or 1)
    inner = moe.latent_width or model.hidden_size
    parameters = expert_parameters(inner, moe.expert_width / cut, moe.matrices, moe.expert_bias)
    return float(parameters) * BYTES_PER_ELEMENT[dtype]
