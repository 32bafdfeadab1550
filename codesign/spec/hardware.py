"""One accelerator: datasheet figures and measured kernel constants, each with its source."""

from collections.abc import Callable
from typing import Any, Generic, Literal, Self, TypeVar

from pydantic import Field, model_validator

from codesign.spec.base import (
    Bandwidth,
    Bytes,
    Compute,
    Count,
    Items,
    PositiveCount,
    Seconds,
    Spec,
    UsdPerHour,
    Watts,
)
from codesign.spec.precision import Dtype

Value = TypeVar("Value")
ComputeFormat = Literal["bf16", "fp8", "fp4", "int8"]
Backend = Literal["vllm", "sglang", "trtllm"]
KernelKind = Literal["routed_experts", "gemm", "attention", "latent_attention", "elementwise"]


class Sourced(Spec, Generic[Value]):
    """A figure and where it was read."""

    value: Value
    source: str = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _require_a_source(cls, data: Any) -> Any:
        if isinstance(data, str | int | float) and not isinstance(data, bool):
            raise ValueError(f"say where it was read, {{value: {data}, source: the datasheet}}")
        return data

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Travel to worker processes; a parametrised class cannot be looked up by its name."""
        (kind,) = self.__pydantic_generic_metadata__["args"]
        return _restored, (kind, self.value, self.source)


def _restored(kind: object, value: object, source: str) -> object:
    parametrised = Sourced[kind]  # type: ignore[valid-type]
    return parametrised.model_construct(value=value, source=source)


class PriceRange(Spec):
    """What one GPU-hour is rented for."""

    low: UsdPerHour
    high: UsdPerHour
    source: str

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low must not exceed high: {self.low} > {self.high}")
        return self


class KernelConstants(Spec):
    """Cost of one kernel: floor + bytes / bandwidth + FLOP / compute, as achieved.

    Parameters
    ----------
    kernel, backend, dtype
        What was measured: the kernel, the engine it belongs to, its number format.
    floor : quantity
        Time of the smallest launch, under CUDA graphs [s].
    bandwidth, compute : quantity
        Achieved, not peak [B/s], [FLOP/s].
    norm : float
        p of the p-norm that joins byte and FLOP time; 1 adds them up [-].
    narrow_width : float
        Width per GPU at which routed experts reach half the bandwidth [element].
    source : str
        The measurement.
    samples, configurations : int, optional
        Timed rows and shapes behind the constants.
    median_error, p90_error : float, optional
        Absolute relative error of the fit [-].
    left_out_error, left_out_p90_error : float, optional
        The same, each shape predicted from the others [-].
    weak : str, optional
        Why the constants are not to be trusted far; absent where they are.
    """

    kernel: KernelKind
    backend: Backend
    dtype: Dtype
    floor: Seconds
    bandwidth: Bandwidth = Field(gt=0)
    compute: Compute = Field(gt=0)
    norm: float = Field(default=1.0, ge=1)
    narrow_width: float = Field(default=47.0, ge=0)
    source: str
    samples: Count | None = None
    configurations: Count | None = None
    median_error: float | None = Field(default=None, ge=0)
    p90_error: float | None = Field(default=None, ge=0)
    left_out_error: float | None = Field(default=None, ge=0)
    left_out_p90_error: float | None = Field(default=None, ge=0)
    weak: str | None = None


class AllReduceFloor(Spec):
    """Time of the smallest all-reduce over so many GPUs [s].

    `bandwidth` is that of the bus with so many, where it differs from the common one [B/s].
    """

    gpus: PositiveCount
    floor: Seconds
    bandwidth: Bandwidth | None = Field(default=None, gt=0)


class AllReduce(Spec):
    """Cost of one all-reduce in a CUDA graph: floor(GPUs) + bus bytes / bandwidth.

    Bus bytes of a message of m bytes over g GPUs are 2 m (g-1)/g (NCCL's convention).
    """

    floors: Items[AllReduceFloor] = Field(min_length=1)
    bandwidth: Bandwidth = Field(gt=0)
    source: str


class ExpertAllToAll(Spec):
    """Cost of expert-parallel dispatch and combine: floors + payload bytes / bandwidth."""

    dispatch_floor: Seconds
    combine_floor: Seconds
    bandwidth: Bandwidth = Field(gt=0)
    source: str


class Hardware(Spec):
    """One accelerator. A figure that has no source is absent, and what needs it says so.

    Parameters
    ----------
    name, title : str
        As it is asked for; as it is shown.
    peak_compute : dict
        Dense peak by number format [FLOP/s].
    memory, memory_bandwidth : quantity
        Per GPU [B], [B/s].
    scaleup_bandwidth, pcie_bandwidth : quantity, optional
        Per GPU and direction [B/s].
    l2_cache, compute_units, power, price : optional
        [B], streaming multiprocessors or the like, [W], USD per GPU-hour.
    kernels, all_reduce, expert_all_to_all : optional
        Measured constants.
    """

    name: str = Field(min_length=1)
    title: str
    peak_compute: dict[ComputeFormat, Sourced[Compute]]
    memory: Sourced[Bytes]
    memory_bandwidth: Sourced[Bandwidth]
    scaleup_bandwidth: Sourced[Bandwidth] | None = None
    pcie_bandwidth: Sourced[Bandwidth] | None = None
    l2_cache: Sourced[Bytes] | None = None
    compute_units: Sourced[Count] | None = None
    power: Sourced[Watts] | None = None
    price: PriceRange | None = None
    kernels: Items[KernelConstants] = ()
    all_reduce: AllReduce | None = None
    expert_all_to_all: ExpertAllToAll | None = None
    notes: Items[str] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if "bf16" not in self.peak_compute:
            raise ValueError("peak_compute needs at least bf16")
        for name in ("memory", "memory_bandwidth"):
            if getattr(self, name).value <= 0:
                raise ValueError(f"{name} must be positive")
        if any(peak.value <= 0 for peak in self.peak_compute.values()):
            raise ValueError("peak_compute must be positive")
        return self


class Deployment(Spec):
    """How one replica of the model is served.

    Parameters
    ----------
    gpus : int, optional
        GPUs of a replica; absent: the smallest power of two on which the reference fits.
    tensor_parallel : int, optional
        Tensor-parallel degree of attention; absent: `gpus`, or 1 with `attention_dp`.
    expert_parallel : int
        Expert-parallel degree; experts are tensor-parallel over the remaining gpus / ep.
    attention_dp : bool
        Attention data-parallel instead of tensor-parallel.
    backend : str
        Engine whose kernels are priced.
    dtype, expert_dtype : Dtype, optional
        Format of all linear weights, and of the routed experts'; absent: the checkpoint's own.
    host_time, sd_overhead : quantity
        Host time per step or cycle, further fixed cost of a draft-verify cycle [s].
    cuda_graphs : bool
        Kernels are launched by CUDA graphs; otherwise one by one by the host (eager).
    price : quantity, optional
        USD per GPU-hour; absent: the middle of the profile's range.
    memory_utilisation : float
        Share of the GPU memory that weights, caches and workspace may fill.
    """

    gpus: PositiveCount | None = None
    tensor_parallel: PositiveCount | None = None
    expert_parallel: PositiveCount = 1
    attention_dp: bool = False
    backend: Backend = "vllm"
    dtype: Dtype | None = None
    expert_dtype: Dtype | None = None
    host_time: Seconds = Field(default="0 s", validate_default=True)
    sd_overhead: Seconds = Field(default="0.5 ms", validate_default=True)
    cuda_graphs: bool = True
    price: UsdPerHour | None = None
    memory_utilisation: float = Field(default=0.9, gt=0, le=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.attention_dp and (self.tensor_parallel or 1) != 1:
            raise ValueError("attention_dp and tensor_parallel > 1 exclude each other")
        return self
