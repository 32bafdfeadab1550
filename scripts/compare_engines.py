"""Print engines side by side: exact, hybrid and every sampler, then peers from PyPI.

    python scripts/compare_engines.py [--seeds 10] [--peers PYTHON]

The problem is the default one at the values in use (22,680 designs). Regret is relative, of the
best feasible design to the certified optimum; seconds are of processor time. Peers are run by the
interpreter of an environment of their own (llm-analysis pins old packages):

    python3 -m venv peers && peers/bin/pip install llm-analysis genz-llm archc
    python scripts/compare_engines.py --peers peers/bin/python

They evaluate other things in other detail; the figure compared is designs evaluated per second.
"""

import argparse
import importlib.util
import re
import statistics
import subprocess
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from codesign.answer import front_objectives
from codesign.further_axes import make_variants
from codesign.search.enumerate import Enumeration, enumerate_space
from codesign.search.executor import InProcess, Pool
from codesign.search.hybrid import polish
from codesign.search.optuna_study import run_optuna
from codesign.search.problem import Problem
from codesign.search.variants import Variants
from codesign.spec.study import Search, Study

TRIALS = {"tpe": 200, "nsga2": 200, "qmc": 200, "random": 200, "gp": 60}

GENZ = """
import contextlib, io, time
from GenZ import decode_moddeling
def evaluate():
    decode_moddeling(model="llama2_7b", batch_size=32, input_tokens=1024, output_tokens=0,
                     system_name="H100_GPU", bits="bf16", tensor_parallel=1)
"""
LLM_ANALYSIS = """
import contextlib, io, logging, time
logging.disable(logging.CRITICAL)
from llm_analysis.analysis import LLMAnalysis
from llm_analysis.config import (ParallelismConfig, get_dtype_config_by_name,
                                 get_gpu_config_by_name, get_model_config_by_name)
model = get_model_config_by_name("facebook_opt-1.3b")
gpu = get_gpu_config_by_name("a100-sxm-80gb")
def evaluate():
    LLMAnalysis(model, gpu, get_dtype_config_by_name("w16a16e16"), ParallelismConfig()).inference(
        batch_size_per_gpu=32, seq_len=2048, num_tokens_to_generate=128)
"""
TIMED = """
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    evaluate()
    start, count = time.process_time(), 0
    while time.process_time() - start < 2:
        evaluate(); count += 1
print(count / (time.process_time() - start))
"""
ARCHC = ["--hardware", "h100", "--params", "7", "--tokens", "2", "--context", "8192", "--tp", "8",
         "--serving-tbt", "50", "--serving-batch", "32", "--pp", "1", "--dp", "8",
         "--max-full-evaluations", "1000"]  # fmt: skip


def default_problem() -> Problem:
    """Return the default question at the values in use."""
    data = {"hardware": "h100", "workload": {"target_batch_size": 32}, "uncertainty": {"draws": 0}}
    return make_variants(Study.from_data(data)).own


def regret(found: Enumeration, score: float) -> float:
    """Return the relative distance to the optimum; the whole of it where nothing was feasible."""
    return max(0.0, (found.best.score - score) / found.best.score) if score > 0 else 1.0


def row(name: str, regrets: list[float], seconds: list[float], evaluated: int) -> list[str]:
    """Return one line of the table."""
    hits = sum(each < 1e-9 for each in regrets)
    return [
        name, f"{hits} of {len(regrets)}", f"{statistics.median(regrets):.2%}",
        f"{max(regrets):.2%}", f"{statistics.median(seconds):.3f}", f"{evaluated:,}",
        f"{evaluated / statistics.median(seconds):,.0f}",
    ]  # fmt: skip


def engines(table: Table, seeds: int) -> None:
    """Run every engine of ours."""
    problem = default_problem()
    front = front_objectives(problem.objectives)
    enumerate_space(problem, front)
    start = time.process_time()
    found = enumerate_space(problem, front)
    table.add_row(*row("exact", [0.0], [time.process_time() - start], found.designs))
    for sampler, trials in TRIALS.items():
        if sampler == "gp" and importlib.util.find_spec("torch") is None:
            table.add_row("gp", "needs torch", *[""] * 5)
            continue
        own: tuple[list[float], list[float]] = ([], [])
        polished: tuple[list[float], list[float]] = ([], [])
        for seed in range(seeds):
            search = Search(sampler=sampler, trials=trials, seed=seed)
            start = time.process_time()
            outcome = run_optuna(problem, search)
            own[0].append(regret(found, outcome.best_score))
            own[1].append(time.process_time() - start)
            end = polish(Variants(problem), outcome, Pool(InProcess, 1))
            polished[0].append(regret(found, end.best_score))
            polished[1].append(time.process_time() - start)
        table.add_row(*row(f"{sampler}, {trials} trials", *own, trials))
        table.add_row(*row(f"hybrid from {sampler}", *polished, trials + end.evaluated))


def peers(table: Table, python: str) -> None:
    """Run the peers that are installed."""
    for name, code in (("genz-llm", GENZ), ("llm-analysis", LLM_ANALYSIS)):
        done = subprocess.run(
            [python, "-c", code + TIMED], capture_output=True, text=True, check=False
        )
        rate = float(done.stdout.split()[-1]) if done.returncode == 0 else None
        table.add_row(name, *[""] * 5, f"{rate:,.1f}" if rate else "does not run")
    compiler = Path(python).with_name("ac-compile")
    start = time.perf_counter()
    done = subprocess.run(
        [str(compiler), *ARCHC], capture_output=True, text=True, check=False, timeout=600
    )
    counts = re.findall(r"evaluated ([\d,]+)/", done.stdout + done.stderr)
    evaluated = int(counts[-1].replace(",", "")) if counts else 0
    rate_shown = (
        f"{evaluated / (time.perf_counter() - start):,.1f}" if evaluated else "does not run"
    )
    table.add_row("archc", *[""] * 5, rate_shown)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--peers", metavar="PYTHON", help="interpreter that has the peers")
    arguments = parser.parse_args()
    table = Table("engine", "optimum found", "median regret", "worst", "CPU s", "designs", "per s")
    engines(table, arguments.seeds)
    if arguments.peers:
        peers(table, arguments.peers)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
