"""Command lines of engines, with the draft length by batch size in each one's own form."""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from codesign.export.schedule import Schedule
from codesign.export.served import Served
from codesign.prediction import predict
from codesign.servable import unservable

HUB: Final = "https://huggingface.co/"
CHECKPOINT: Final = "./checkpoint"
DRAFT: Final = "./draft"
ADAPTIVE_FILE: Final = "sglang-adaptive.json"

ZERO_IS_NOT_OFF: Final = (
    "a range with K = 0 keeps the draft loaded and costs 7 to 22 % over a server without "
    "speculative decoding (vllm-project/vllm#49548); where such loads last, serve without it"
)
UNTRAINED: Final = (
    f"the architecture was searched, so no checkpoint exists: {CHECKPOINT} stands for yours"
)


@dataclass(frozen=True)
class EngineExport:
    """How one engine is started.

    Parameters
    ----------
    command : tuple of str
        Words of the command line.
    files : dict of str to str
        Files that the command refers to.
    remarks : tuple of str
    """

    command: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def shell(self) -> str:
        """The command as a shell takes it, one flag a line, remarks as comments."""
        lines: list[str] = []
        for word in self.command:
            if not lines or word.startswith("--"):
                lines.append(shlex.quote(word))
            else:
                lines[-1] += f" {shlex.quote(word)}"
        comments = "".join(f"# {remark}\n" for remark in self.remarks)
        return comments + " \\\n  ".join(lines) + "\n"


def vllm(served: Served, schedule: Schedule) -> EngineExport:
    """Return how vLLM serves a design.

    Notes
    -----
    ``num_speculative_tokens_per_batch_size`` (as of vLLM 0.25) is a list of [first, last, K],
    inclusive, the first range from 1. Under data parallelism vLLM ignores it.
    """
    replica, deployment = served.scenario.replica, served.study.deployment
    words = ["vllm", "serve", _model(served)]
    words += ["--tensor-parallel-size", str(replica.tensor_parallel)]
    if replica.data_parallel > 1:
        words += ["--data-parallel-size", str(replica.data_parallel)]
    if replica.expert_parallel > 1:
        words += ["--enable-expert-parallel"]
    words += ["--max-num-seqs", str(schedule.ranges[-1][1])]
    words += ["--gpu-memory-utilization", f"{deployment.memory_utilisation:g}"]
    remarks = _remarks(served, schedule)
    static = _static_reason(served, {"eagle", "mtp", "model", "fraction"}, "vLLM")
    remarks += static
    drafted = served.draft_tokens if static else schedule.longest
    if drafted:
        config = _vllm_draft(served) | {"num_speculative_tokens": drafted}
        if not static and len(schedule.ranges) > 1:
            ranges = [list(each) for each in schedule.ranges]
            config["num_speculative_tokens_per_batch_size"] = ranges
        words += ["--speculative-config", json.dumps(config)]
    return EngineExport(tuple(words), remarks=tuple(remarks))


def sglang(served: Served, schedule: Schedule) -> EngineExport:
    """Return how SGLang serves a design.

    Notes
    -----
    The adaptive config has a key per range, its first batch size, with the steps the engine may
    choose from; one step pins it. EAGLE chains only, and no attention data parallelism.
    """
    replica, drafted = served.scenario.replica, served.draft_tokens
    words = ["python3", "-m", "sglang.launch_server", "--model-path", _model(served)]
    words += ["--tp-size", str(replica.gpus)]
    if replica.data_parallel > 1:
        words += ["--dp-size", str(replica.data_parallel), "--enable-dp-attention"]
    if replica.expert_parallel > 1:
        words += ["--ep-size", str(replica.expert_parallel)]
    words += ["--max-running-requests", str(schedule.ranges[-1][1])]
    remarks = _remarks(served, schedule)
    static = _static_reason(served, {"eagle", "mtp", "fraction"}, "SGLang")
    remarks += static
    if schedule.longest == 0 or (static and drafted == 0):
        return EngineExport(tuple(words), remarks=tuple(remarks))
    adaptive = not static and len(schedule.ranges) > 1
    steps = drafted or schedule.longest
    words += _sglang_draft(served)
    words += ["--speculative-num-steps", str(steps), "--speculative-eagle-topk", "1"]
    words += ["--speculative-num-draft-tokens", str(steps + 1)]
    if not adaptive:
        return EngineExport(tuple(words), remarks=tuple(remarks))
    words += ["--speculative-adaptive", "--speculative-adaptive-config", ADAPTIVE_FILE]
    config = {str(first): {"candidate_steps": [k]} for first, _, k in schedule.ranges}
    files = {ADAPTIVE_FILE: json.dumps(config, indent=2) + "\n"}
    return EngineExport(tuple(words), files, tuple(remarks))


ENGINES: Final[dict[str, Callable[[Served, Schedule], EngineExport]]] = {
    "vllm": vllm,
    "sglang": sglang,
}


def _model(served: Served) -> str:
    """The published checkpoint, if it is that; an architecture of one's own has none yet."""
    source = served.scenario.reference.source
    if not served.as_published or not source.startswith(HUB):
        return CHECKPOINT
    return "/".join(source.removeprefix(HUB).split("/")[:2])


def _vllm_draft(served: Served) -> dict[str, object]:
    draft = served.study.draft
    if draft.kind == "mtp":
        return {"method": "mtp"}
    if draft.kind == "model":
        return {"method": "draft_model", "model": _draft_model(served)}
    return {"method": "eagle3", "model": DRAFT}


def _sglang_draft(served: Served) -> list[str]:
    kind = served.study.draft.kind
    if kind == "mtp":
        return ["--speculative-algorithm", "EAGLE"]
    if kind == "model":
        words = ["--speculative-algorithm", "STANDALONE"]
        return [*words, "--speculative-draft-model-path", _draft_model(served)]
    return ["--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", DRAFT]


def _draft_model(served: Served) -> str:
    model = served.scenario.drafting.model
    source = model.source if model is not None else ""
    return "/".join(source.removeprefix(HUB).split("/")[:2]) if source.startswith(HUB) else DRAFT


def _static_reason(served: Served, kinds: set[str], engine: str) -> list[str]:
    """Why an engine cannot change the draft length with the batch, if it cannot."""
    kept = f"K = {served.draft_tokens}, best for the study's own load, is used at every batch size"
    if served.scenario.replica.data_parallel > 1:
        return [f"{engine} does not change K with the batch under data parallelism: {kept}"]
    if served.study.draft.kind not in kinds:
        return [
            f"{engine} does not change K of a {served.study.draft.kind} draft with the batch: "
            f"{kept}"
        ]
    return []


def _remarks(served: Served, schedule: Schedule) -> list[str]:
    longest = served.designs.take(int(served.designs.draft_tokens.argmax()))
    remarks = unservable(predict(longest, served.scenario))
    if not served.as_published:
        remarks.append(UNTRAINED)
    if served.study.draft.kind in ("eagle", "fraction"):
        remarks.append(f"{DRAFT} stands for your draft")
    if served.study.draft.kind == "fraction":
        remarks.append("the study prices drafting as a share of a step; set your draft's method")
    if served.study.draft.parallel:
        remarks.append("the study drafts all tokens in one pass; set the method of such a draft")
    lengths = [drafted for _, _, drafted in schedule.ranges]
    if not any(lengths):
        remarks.append("speculative decoding does not pay at any batch size: serve without it")
    elif 0 in lengths:
        sizes = ", ".join(f"{first} to {last}" for first, last, k in schedule.ranges if k == 0)
        remarks.append(f"speculative decoding does not pay at batch sizes {sizes}")
        remarks.append(ZERO_IS_NOT_OFF)
    if schedule.rising:
        sizes = ", ".join(str(size) for size in schedule.rising)
        remarks.append(
            f"K rises again at batch size {sizes}: verification gets cheaper once most experts are "
            "loaded"
            if served.architecture.moe is not None
            else f"K rises again at batch size {sizes}: caches are read once for all drafted tokens"
        )
    return remarks
