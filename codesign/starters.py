"""Bundled studies, and the commented files that `codesign init` writes."""

from pathlib import Path
from typing import Final

from codesign.errors import UsageError, did_you_mean
from codesign.paths import exists, is_file, is_folder

_HARDWARE: Final = """\
# A profile of your own GPU. Every number has a unit and a source; leave out what you do not know.
# Use it with --hw THIS_FILE; 'codesign show hardware h100' prints a complete one.
name: my-gpu
title: My GPU
peak_compute:            # dense peaks, never the ones "with sparsity"
  bf16: {value: 989 TFLOP/s, source: the datasheet}
  # fp8: {value: 1978 TFLOP/s, source: the datasheet}
memory: {value: 80 GiB, source: nvidia-smi}
memory_bandwidth: {value: 3.35 TB/s, source: the datasheet}
# scaleup_bandwidth: {value: 450 GB/s, source: "the datasheet, per GPU and direction"}
# power: {value: 700 W, source: the datasheet}
# price: {low: 2 USD/h, high: 5 USD/h, source: where you rent it}
# kernels:               # as measured; without them constants are scaled from the nearest GPU
#   - {kernel: routed_experts, backend: vllm, dtype: bf16, floor: 26 us, bandwidth: 3.04 TB/s,
#      compute: 655 TFLOP/s, source: the benchmark}
"""


_ABLATION: Final = """\
# What does a study's answer owe to its assumptions, and to each term of the model?
#
# Run it with: codesign ablate ablation.yaml --out tables
# Bundled ones to learn from: codesign list ablations; terms to take out: codesign list terms.
name: my ablation
study: default                  # bundled (codesign list studies), a file beside this one, or fields
overrides:                      # hold in every row; any field of a study by its dotted path
  uncertainty.draws: 0
factors:                        # or variants: named changes, such as {fewer: {set.top_k: 6}}
  workload.target_batch_size: [1, 32]
  routing: [own, independent]
combine: one_at_a_time          # or crossed
design: reference               # or hold (the study's optimum), reoptimise (every row's own)
terms: [temporal_correlation, launch_floors, draft_cost]
figures: [sd_speedup, sd_tpot_s]  # codesign list figures; terms are weighed by the first
"""


def studies_folder() -> Path:
    """Return the folder of bundled studies, in a wheel or in a checkout."""
    inside = Path(__file__).parent / "studies"
    return inside if inside.is_dir() else Path(__file__).resolve().parents[1] / "studies"


def list_studies() -> list[str]:
    """Return the names of the bundled studies."""
    return sorted(path.stem for path in studies_folder().glob("*.yaml"))


def list_ablations() -> list[str]:
    """Return the names of the bundled ablations."""
    return sorted(path.stem for path in (studies_folder() / "ablations").glob("*.yaml"))


def find_study(name_or_path: str) -> Path:
    """Return the file of a study: a path if it exists, else a bundled one.

    Raises
    ------
    UsageError
        If there is neither.
    """
    if name_or_path in list_ablations() and not is_file(name_or_path):
        raise UsageError(f"{name_or_path!r} is an ablation: codesign ablate {name_or_path}")
    return _find(name_or_path, "study", list_studies(), studies_folder())


def find_ablation(name_or_path: str) -> Path:
    """Return the file of an ablation: a path if it exists, else a bundled one.

    Raises
    ------
    UsageError
        If there is neither.
    """
    if name_or_path in list_studies() and not is_file(name_or_path):
        raise UsageError(f"{name_or_path!r} is a study: codesign optimize --study {name_or_path}")
    return _find(name_or_path, "ablation", list_ablations(), studies_folder() / "ablations")


def _find(name_or_path: str, noun: str, bundled: list[str], folder: Path) -> Path:
    path = Path(name_or_path)
    if exists(path) and not is_folder(path):
        return path
    if name_or_path in bundled:
        return folder / f"{name_or_path}.yaml"
    hint = did_you_mean(name_or_path, bundled)
    raise UsageError(
        f"unknown {noun} {name_or_path!r}: no such file and no bundled {noun}{hint}; "
        f"see 'codesign list {'studies' if noun == 'study' else 'ablations'}'"
    )


def starter_text(what: str) -> str:
    """Return the commented starter file of a kind: ``study``, ``hardware`` or ``ablation``."""
    if what == "hardware":
        return _HARDWARE
    if what == "ablation":
        return _ABLATION
    return (studies_folder() / "default.yaml").read_text(encoding="utf-8")
