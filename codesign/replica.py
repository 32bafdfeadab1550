"""One replica: how many GPUs, how the model is cut over them, and what its kernels cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from codesign.errors import UsageError
from codesign.hardware import (
    ResolvedKernel,
    eager_interconnect,
    eager_kernel,
    resolve_interconnect,
    resolve_kernel,
)
from codesign.model.arrays import ArrayLike, FloatArray
from codesign.model.communication import Interconnect
from codesign.model.roofline import Kernel
from codesign.spec.architecture import Architecture
from codesign.spec.attention import Attention
from codesign.spec.hardware import Deployment, Hardware, KernelKind
from codesign.spec.precision import BYTES_PER_ELEMENT, Component, Dtype, Precision

BLOCK_QUANTISED: Final[frozenset[Dtype]] = frozenset(
    {"fp8_block", "mxfp8", "mxfp4", "nvfp4", "int4", "int4_g32"}
)


@dataclass(frozen=True)
class Replica:
    """A resolved deployment.

    Parameters
    ----------
    hardware : Hardware
    gpus, tensor_parallel, expert_parallel : int
        GPUs of the replica; degrees of attention and of experts.
    precision : Precision
        Number formats, after a deployment's own dtype.
    kernels : dict
        Constants by kernel kind and dtype.
    interconnect : Interconnect, optional
        Absent on one GPU.
    host_time, sd_overhead : float
        [s].
    memory_limit : float
        Usable memory of one GPU [B].
    assumptions : tuple of str
    """

    hardware: Hardware
    gpus: int
    tensor_parallel: int
    expert_parallel: int
    precision: Precision
    kernels: Mapping[tuple[KernelKind, Dtype], ResolvedKernel]
    interconnect: Interconnect | None
    host_time: float
    sd_overhead: float
    memory_limit: float
    assumptions: tuple[str, ...]

    @property
    def data_parallel(self) -> int:
        """Groups of GPUs that each attend to their own sequences."""
        return self.gpus // self.tensor_parallel

    def sequences_here(self, sequences: ArrayLike) -> FloatArray:
        """Return how many of a replica's sequences the group that has most attends to, ⌈B/dp⌉."""
        return np.asarray(np.ceil(sequences / np.float64(self.data_parallel)))

    def experts_here(self, experts: ArrayLike) -> FloatArray:
        """Return how many of a layer's experts the rank that has most holds, ⌈N/ep⌉."""
        return np.asarray(np.ceil(experts / np.float64(self.expert_parallel)))

    @property
    def expert_tensor_parallel(self) -> int:
        """GPUs that one routed expert is cut over."""
        return self.gpus // self.expert_parallel

    @property
    def width_step(self) -> int:
        """Expert widths come in multiples of this, so that every GPU gets whole tiles."""
        blocked = self.precision.of("routed_experts") in BLOCK_QUANTISED
        return (128 if blocked else 64) * self.expert_tensor_parallel

    def kernel(self, kind: KernelKind, dtype: Dtype) -> Kernel:
        """Return the constants of one kernel."""
        return self.kernels[kind, dtype].kernel

    def gemm(self, component: Component) -> tuple[Kernel, float]:
        """Return the constants of a component's dense matrix products and its bytes per weight."""
        dtype = self.precision.of(component)
        return self.kernel("gemm", dtype), BYTES_PER_ELEMENT[dtype]


def resolve_replica(
    hardware: Hardware,
    deployment: Deployment,
    model: Architecture,
    gpus: int,
    draft: Architecture | None = None,
) -> Replica:
    """Resolve every degree and constant of a deployment of one model on so many GPUs.

    A draft that is a model of its own keeps its own formats, whatever the deployment's.

    Raises
    ------
    UsageError
        If the degrees do not divide each other, or the interconnect is unknown.
    """
    tensor = deployment.tensor_parallel or (1 if deployment.attention_dp else gpus)
    expert = deployment.expert_parallel
    for name, degree in (("tensor_parallel", tensor), ("expert_parallel", expert)):
        if gpus % degree:
            raise UsageError(f"{name} {degree} does not divide {gpus} gpus; set --gpus")
    checkpoint = precision = model.precision
    if deployment.dtype is not None:
        precision = Precision(
            weights=deployment.dtype,
            embeddings=checkpoint.embeddings,
            kv_cache=checkpoint.kv_cache,
        )
    if deployment.expert_dtype is not None:
        precision = precision.model_copy(update={"routed_experts": deployment.expert_dtype})
    wanted = _wanted(model, precision) + (_wanted(draft, draft.precision) if draft else [])
    kernels = {
        (kind, dtype): resolve_kernel(hardware, kind, deployment.backend, dtype)
        for kind, dtype in dict.fromkeys(wanted)
    }
    interconnect, link_assumptions = resolve_interconnect(hardware, gpus)
    if not deployment.cuda_graphs:
        kernels = {key: eager_kernel(key[0], resolved) for key, resolved in kernels.items()}
        interconnect = eager_interconnect(interconnect)
        link_assumptions = [*link_assumptions, "no CUDA graphs: every launch by the host"]
    return Replica(
        hardware=hardware,
        gpus=gpus,
        tensor_parallel=tensor,
        expert_parallel=expert,
        precision=precision,
        kernels=kernels,
        interconnect=interconnect,
        host_time=deployment.host_time,
        sd_overhead=deployment.sd_overhead,
        memory_limit=deployment.memory_utilisation * hardware.memory.value,
        assumptions=(*_kernel_assumptions(hardware, kernels), *link_assumptions),
    )


def attention_kernel(mixer: Attention) -> KernelKind:
    """Return the kernel that reads a mixer's cache: latent attention has its own."""
    return "latent_attention" if mixer.kind == "mla" else "attention"


def _wanted(model: Architecture, precision: Precision) -> list[tuple[KernelKind, Dtype]]:
    """Return the kernels a model runs, each in its format."""
    components: tuple[Component, ...] = ("shared_experts", "attention", "dense")
    return [
        ("routed_experts", precision.of("routed_experts")),
        *(("gemm", precision.of(component)) for component in components),
        ("gemm", precision.embeddings),
        *((attention_kernel(mixer), precision.kv_cache) for mixer in model.attention),
        ("attention", precision.kv_cache),
        ("elementwise", "bf16"),
    ]


def _kernel_assumptions(
    hardware: Hardware, kernels: Mapping[tuple[KernelKind, Dtype], ResolvedKernel]
) -> list[str]:
    lines = []
    if not hardware.kernels:
        lines.append(
            f"{hardware.name} is a datasheet-only profile: no kernel was measured on it, every "
            "constant is scaled from another device"
        )
    for (kind, dtype), resolved in kernels.items():
        status = "measured" if resolved.measured else "not measured"
        if resolved.weak:
            status = f"{status}, weak: {resolved.weak}"
        kernel = resolved.kernel
        lines.append(
            f"{kind} {dtype} ({status}): {float(kernel.floor) * 1e6:.3g} us floor, "
            f"{float(kernel.bandwidth) / 1e12:.3g} TB/s, {float(kernel.compute) / 1e12:.4g} "
            f"TFLOP/s; {resolved.origin}"
        )
    return lines
