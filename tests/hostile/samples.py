"""Good files of every kind, from which hostile ones are made."""

import gzip
import json
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import yaml

from codesign.ablation.driver import ablate
from codesign.ablation.journal import Journal
from codesign.architectures.lookup import REFERENCES
from codesign.calibration.acceptance import calibrate_acceptance
from codesign.calibration.latency import calibrate_latency
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.profile import calibrate_profile
from codesign.calibration.quality_section import calibrate_quality
from codesign.calibration.routing import calibrate_routing
from codesign.hardware.lookup import PROFILES
from codesign.search.engines import Run
from codesign.search.storage import JOURNAL
from codesign.spec.ablation import Ablation
from codesign.spec.study import Study
from codesign.starters import starter_text, studies_folder
from codesign.study import optimize
from tests.architectures.random_configs import MAKERS, random_config
from tests.calibration.acceptance_files import (
    printed_result,
    prometheus,
    serve_result,
    v0_line,
    v1_line,
)
from tests.calibration.acceptance_files import sglang_line as accepted_line
from tests.calibration.latency_files import sglang_line, vllm_forward_case, vllm_serve
from tests.calibration.profile_files import step, trace, written_sqlite
from tests.calibration.routing_files import (
    ids,
    npy_bytes,
    npz,
    payload,
    sglang_response,
    vllm_nested,
    vllm_response,
)
from tests.calibration.test_quality_fit import synthetic

Document = Any
"""A mapping or list that is written as JSON or YAML; text and bytes are files as they are."""

SMALL_PROFILES: Final = ("tpu-v6e", "mi300x", "rtx-4090", "h100-pcie")
SMALL: Final[Document] = {
    "hardware": "h100",
    "workload": {"target_batch_size": "8:0.3,32:0.7", "context": 512, "tpot_limit": "20 ms"},
    "deployment": {"gpus": 2, "tensor_parallel": 2, "host_time": "1 ms", "price": "2 USD/h"},
    "space": {
        "experts": [8, "64:128:64"], "top_k": "1:8:x2", "shared_experts": 0, "draft_tokens": "0:2",
        "expert_width": "search", "widths": "256:768:256", "fix": ["top_k"], "layers": 48,
    },
    "set": {"hidden_size": 2048, "shared_experts": 1},
    "draft": {"kind": "fraction", "fraction": 0.05, "parallel": True},
    "acceptance": {"form": "positions", "values": [0.8, 0.6, 0.4]},
    "train_tokens": "15T",
    "objectives": ["sd_tpot:minimize:q95", {"sd_speedup": {"statistic": "cvar10"}}],
    "constraints": {
        "total_params": {"at_most": "1.1x", "at_least": "1B"}, "top_k": {"minimum": 2},
        "quality": {"epsilon": 0.02, "level": 0.7}, "expert_width": {"tolerance": 0.1},
        "memory": False, "effective_parameters": {"share": 0.9}, "sd_tpot": {"at_most": "30 ms"},
    },
    "uncertainty": {"draws": 2, "popularity": {"low": 0.1, "high": 0.2}, "cycle_ratio": 0.1},
    "search": {"engine": "exact", "sampler": "qmc", "trials": 4, "batch": 2, "seed": 1},
}  # fmt: skip
"""A study that fills nearly every field."""

FULL_PROFILE: Final[Document] = {
    "name": "gpu", "title": "GPU", "peak_compute": {
        "bf16": {"value": "989 TFLOP/s", "source": "s"},
        "fp8": {"value": "1978 TFLOP/s", "source": "s"},
    },
    "memory": {"value": "80 GiB", "source": "s"},
    "memory_bandwidth": {"value": "3.35 TB/s", "source": "s"},
    "scaleup_bandwidth": {"value": "450 GB/s", "source": "s"},
    "l2_cache": {"value": "50 MB", "source": "s"}, "compute_units": {"value": 132, "source": "s"},
    "price": {"low": "2 USD/h", "high": "5 USD/h", "source": "s"},
    "kernels": [{
        "kernel": kernel, "backend": "vllm", "dtype": "bf16", "floor": "26 us", "compute":
        "655 TFLOP/s", "bandwidth": "3.04 TB/s", "norm": 1.4, "narrow_width": 40, "source": "s",
        "median_error": 0.02,
    } for kernel in ("routed_experts", "gemm", "attention")],
    "all_reduce": {"floors": [{"gpus": 2, "floor": "9 us"}, {"gpus": 8, "floor": "14 us"}],
                   "bandwidth": "300 GB/s", "source": "s"},
    "expert_all_to_all": {"dispatch_floor": "20 us", "combine_floor": "30 us",
                          "bandwidth": "300 GB/s", "source": "s"},
    "notes": ["made up"],
}  # fmt: skip

AIPERF: Final[Document] = {
    "request_throughput": {"unit": "requests/sec", "avg": 3.55},
    "time_to_first_token": {"unit": "ms", "avg": 45.0},
    "inter_token_latency": {"unit": "ms", "avg": 8.4, "p50": 8.4},
    "inter_chunk_latency": {"unit": "ms", "avg": 22.9},
    "total_spec_decode_steps": {"unit": "count", "avg": 7502.0},
    "total_accepted_draft_tokens": {"unit": "tokens", "avg": 12978.0},
    "total_draft_tokens": {"unit": "tokens", "avg": 22506.0},
    "pooled_spec_decode_acceptance_histogram": {"0": 1605, "1": 1591, "2": 1531, "3": 2775},
    "run_info": {"concurrency": 8},
}
SERVER_INFO: Final[Document] = {
    "internal_states": [
        {"step_time_dict": {"1": [0.0066], "8": [0.0111]}, "avg_spec_accept_length": 2.73}
    ]
}
KERNEL_SUMMARY: Final[Document] = {
    "replays": 3, "span_us": 9120.0, "busy_us": 9000.0,
    "kernels": [{"name": "fused_moe_kernel", "us": 4800.0, "calls": 96}],
}  # fmt: skip
GUIDELLM: Final[Document] = {
    "metadata": {"guidellm_version": "0.6.1"}, "args": {}, "benchmarks": [{
        "args": {"strategy": {"streams": 8}}, "metrics": {
            name: {"successful": {"mean": mean, "median": mean, "count": 78}}
            for name, mean in (
                ("request_concurrency", 7.9),
                ("inter_token_latency_ms", 8.4), ("time_per_output_token_ms", 8.55),
                ("prompt_token_count", 100.0), ("output_token_count", 256.0),
                ("iter_tokens_per_iteration", 2.74),
            )
        } | {"request_totals": {"successful": 78}},
    }],
}  # fmt: skip
TRTLLM: Final[Document] = {
    "engine": {"model": "m"}, "world_info": {"tp_size": 1},
    "request_info": {"num_requests": 80, "avg_num_concurrent_requests": 7.9,
                     "avg_input_length": 1024.0, "avg_output_length": 256.0},
    "streaming_metrics": {"avg_tpot_ms": 8.4, "tpot_percentiles": {"p50": 8.3}},
    "decoding_stats": {"mode": "EAGLE3", "acceptance_length_percentiles": {"average": 2.73},
                       "draft_acceptance_rate_percentiles": {"average": 0.5767}},
}  # fmt: skip
INFERENCEX: Final[Document] = {
    "hw": "h200", "tp": 8, "ep": 1, "conc": 16, "model": "m", "framework": "sglang",
    "precision": "fp8", "tput_per_gpu": 900.0, "isl": 1024, "osl": 1024, "mean_tpot": 0.0125,
    "mean_intvty": 80.0, "spec_decoding": "none",
}  # fmt: skip

FLAGS: Final[Document] = {
    "target_bs": "8:0.3,32:0.7", "hw": "h100", "arch": "qwen3-30b-a3b", "context": 512,
    "set_": ["hidden_size=2048", "top_k=6"], "gpus": 2, "tp": 2, "ep": 1, "attention_dp": False,
    "dtype": "fp8", "backend": "vllm", "routing": "own", "draft": "fraction:0.05,parallel",
    "acceptance": "decay:.76,.965", "host_time": "1 ms", "sd_overhead": "0.5 ms",
    "price": "2 USD/h", "train_tokens": "15T", "draft_tokens": "0:3", "experts": "64:128:64",
    "top_k": "1:8:x2", "shared_experts": "0", "expert_width": "iso_active", "fix": "top_k",
    "axis": ["layers=24,48", "drafts=mtp@constant:.8", "expert_dtype=fp8,bf16"],
    "objective": ["sd_tpot:minimize:q95", "cost"], "seed": 1, "draws": 2, "trials": 4,
    "constraint": ["total_params<=1.1x", "sd_tpot<=10 ms", "top_k<=8"],
    "no_constraint": ["quality", "memory"], "engine": "exact", "sampler": "qmc",
}  # fmt: skip
"""What options of `optimize` are given, by their names in the code."""

STUDIES: Final[tuple[Document, ...]] = (
    SMALL, SMALL,
    *(yaml.safe_load(path.read_text("utf-8")) for path in sorted(studies_folder().glob("*.yaml"))),
)  # fmt: skip
ABLATIONS: Final[tuple[Document, ...]] = tuple(
    yaml.safe_load(path.read_text("utf-8"))
    for path in sorted((studies_folder() / "ablations").glob("*.yaml"))
)
HARDWARE: Final[tuple[Document, ...]] = (
    FULL_PROFILE, FULL_PROFILE, yaml.safe_load(starter_text("hardware")),
    *(yaml.safe_load((PROFILES / f"{name}.yaml").read_text("utf-8")) for name in SMALL_PROFILES),
)  # fmt: skip
ARCHITECTURES: Final[tuple[Document, ...]] = tuple(
    yaml.safe_load(path.read_text("utf-8")) for path in sorted(REFERENCES.glob("*.yaml"))[::3]
)
CONFIGS: Final[tuple[Document, ...]] = tuple(
    random_config(family, seed) for family in MAKERS for seed in range(2)
)
ROUTING: Final[tuple[Document, ...]] = (
    vllm_response(ids()), vllm_response(ids(), "generate"), vllm_nested(ids()),
    sglang_response(ids()), sglang_response(ids(), openai=True),
    {"num_experts": 16, "routed_experts": payload(ids())},
    {"logical_count": [[[1, 2, 3, 4]] * 2] * 2}, [[3, 1, 4, 1], [5, 9, 2, 6]], npy_bytes(ids()),
    npy_bytes(np.stack([ids(dense=0, seed=seed) for seed in range(5)])),
    "experts: 16\ntop_k: 4\nunique_by_batch: {2: 7.0, 4: 10.5}\noverlap_by_lag: {1: .4, 2: .35}\n",
    {"physical_to_logical_map": [[0, 1, 2]]},
)  # fmt: skip
ACCEPTANCE: Final[tuple[Document, ...]] = (
    serve_result(100, (80, 60)), prometheus((100, (80, 60)), (50, (40, 20))),
    v1_line(100, (80, 60, 40)), v1_line(100, (80, 60), depth=3, throughput=False),
    v0_line(4, 400, 200, 250), accepted_line(8, 2.7), "{1: 1.8, 2: 2.4}", "1: [0.8]\n2: [.8, .6]\n",
    printed_result({"Drafts": 100, "Draft tokens": 300, "Accepted tokens": 180}, (0.8, 0.6, 0.4)),
    {"metrics": {"speculative_decoding": {
        "num_spec_steps": 3, "num_draft_tokens": 9, "num_accepted_draft_tokens": 5,
        "acceptance_histogram": [1, 0, 1, 1]}}},
    {"accept_length": 2.7, "server_info": {"speculative_num_steps": 3}, "completed": 5}, AIPERF,
    "K,AL\n1,1.8\n2,2.4\n", TRTLLM,
)  # fmt: skip
LATENCY: Final[tuple[Document, ...]] = (
    vllm_serve(counters=(7502, 22506, 12978)), vllm_serve(),
    [vllm_forward_case("d", 2, 1, 7310.0), vllm_forward_case("v", 2, 4, 9120.0)],
    SERVER_INFO, AIPERF, GUIDELLM, KERNEL_SUMMARY,
    "\n".join([sglang_line(8, 720.0), sglang_line(8, 910.0, 2.7), sglang_line(4, 500.0, 2.6)]),
    "width,ms\n1,8.4\n2,8.9\n4,9.9\n", "K,tok/s,acceptance\n0,20,\n1,30,88.35%\n",
    "tokens,us\n1,40\n2,50\n4,70\n8,100\n16,160\n",
    {"avg_latency": 2.0, "latencies": [2.0, 2.1], "percentiles": {"50": 2.0}},
    {"batch_size": 8, "input_len": 1024, "output_len": 64, "median_decode_latency": 0.01,
     "decode_throughput": 800.0, "run_name": "r"}, TRTLLM, INFERENCEX,
)  # fmt: skip
PROFILE: Final[tuple[Document, ...]] = (
    trace([*step(0.0, 8, 4, 1), *step(900.0, 8, 4, 1)]), trace([*step(0.0, 8, 1, 2)]),
    KERNEL_SUMMARY,
    "Time (%),Total Time (ns),Instances,Avg (ns),Name\n60.0,4800000,96,50000,fused_moe_kernel\n"
    "40.0,3200000,48,66666,nvjet_tst_64x8\n",
    gzip.compress(json.dumps(trace([*step(0.0, 8, 4, 1)])).encode(), mtime=0),
)  # fmt: skip
QUALITY: Final[tuple[Document, ...]] = (
    synthetic(2, 1e-3).to_csv(index=False), synthetic(3, 1e-3).iloc[::3].to_csv(index=False),
)  # fmt: skip

KNOWN: Final = CalibrationOptions(
    hardware="h100", architecture="qwen3-30b-a3b", context=500, draft_tokens=3, batch_size=8
)
"""What a user says of a step-time file."""
PROFILED: Final = CalibrationOptions(hardware="h100", layers=1, draft_tokens=3, batch_size=8)
"""What a user says of a trace; more layers than it has kernels for would be refused."""


def routed_options(chance: Random) -> CalibrationOptions:
    """Return what a user may say of routed experts or counts of acceptance, or leave out."""
    return CalibrationOptions(
        experts=chance.choice([None, 16]), top_k=chance.choice([None, 4]), layers=4,
        draft_tokens=chance.choice([None, 3]), replicates=3,
    )  # fmt: skip


def timed_options(chance: Random) -> CalibrationOptions:
    """Return what a user may say of step times, or leave out."""
    given = CalibrationOptions(experts=128, top_k=8, input_tokens=32, output_tokens=128)
    return chance.choice([KNOWN, CalibrationOptions(), given, replace(KNOWN, gpus=2)])


def profiled_options(chance: Random) -> CalibrationOptions:
    """Return what a user may say of a trace, or leave out."""
    return chance.choice([PROFILED, CalibrationOptions(), KNOWN])


@cache
def calibrations() -> tuple[Document, ...]:
    """Return calibration files with sections fitted to good files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def put(number: int, content: bytes | str) -> list[Path]:
            path = folder / str(number)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            return [path]

        routed = put(0, npy_bytes(np.stack([ids(40, dense=0, seed=s) for s in range(6)])))
        some = CalibrationOptions(experts=16, top_k=4, replicates=3)
        sections = {
            "routing": calibrate_routing(routed, some),
            "acceptance": calibrate_acceptance(put(1, prometheus((900, (700, 500)))), some),
            "latency": calibrate_latency(put(2, json.dumps(LATENCY[2])), KNOWN),
            "profile": calibrate_profile(put(3, json.dumps(PROFILE[0])), PROFILED),
            "quality": calibrate_quality(put(4, QUALITY[0]), some),
        }
        data = {name: section.to_data() for name, section in sections.items()}
        version = {"version": "codesign.calibration/1"}
        return (version | data, *(version | {name: data[name]} for name in data))


@cache
def databases() -> tuple[bytes, ...]:
    """Return binary files: zip archives of arrays, and SQLite."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kernels = [("fused_moe_kernel", 0, 5000), ("nvjet_tst", 6000, 9000)]
        return (
            npz(folder, "a.npz", experts=ids(dense=0), N=16).read_bytes(),
            written_sqlite(folder, kernels).read_bytes(),
        )


@cache
def _answered() -> tuple[Document, bytes, bytes]:
    """Return a result, the journal of its trials, and the finished rows of an ablation."""
    study = Study.from_data(
        {
            "hardware": "h100",
            "workload": {"target_batch_size": 32},
            "space": {"experts": [64, 128], "top_k": "6:8", "draft_tokens": "0:2"},
            "uncertainty": {"draws": 2},
            "search": {"trials": 4, "batch": 2},
        }
    )
    ablation = {"study": study.to_data(), "terms": ["draft_cost"], "design": "reference"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = optimize(study, run=Run(folder=folder)).to_dict()
        ablate(Ablation.from_data(ablation), journal=Journal(folder / "rows.jsonl"))
        return result, (folder / JOURNAL).read_bytes(), (folder / "rows.jsonl").read_bytes()


def results() -> tuple[Document, ...]:
    """Return results of `optimize`."""
    return (_answered()[0],)


def trials() -> tuple[bytes, ...]:
    """Return journals of Optuna trials."""
    return (_answered()[1],)


def ablation_rows() -> tuple[bytes, ...]:
    """Return journals of ablations."""
    return (_answered()[2],)
