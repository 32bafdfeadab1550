"""Drive one study and kill it with SIGKILL, again and again, then let it finish.

python -m tests.search.killed_driver STORAGE KILLS SEED; prints how many kills hit a study at work.

Children are forked from a process that has loaded everything, so that a kill meets the study and
not the imports.
"""

import os
import random
import signal
import sys
import tempfile
import time

from codesign.search.engines import Run, search
from codesign.search.variants import Variants
from codesign.spec.study import Study
from codesign.study import make_problem, question

TRIALS = 240


def kept_study(sampler: str = "tpe") -> Study:
    """Return the study that is killed."""
    return Study.from_data(
        {
            "name": "killed",
            "hardware": "h100",
            "workload": {"target_batch_size": 32},
            "uncertainty": {"draws": 0},
            "search": {
                "engine": "optuna", "trials": TRIALS, "batch": 10, "piece": 4, "sampler": sampler,
            },
        }
    )  # fmt: skip


def drive(storage: str, study: Study, workers: int = 1) -> None:
    """Run or continue the study to its end."""
    variants = Variants(make_problem(study))
    run = Run(storage=storage, resume=True, workers=workers)
    search(variants, study.search, (), study.name, question(study.to_data()), run)


def undisturbed_seconds(study: Study) -> float:
    """Return how long the study takes here and now, so that kills meet it at work anywhere."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        drive(f"{folder}/study.journal", study)
        return time.monotonic() - started


def main() -> None:
    """Fork, wait, kill; then finish."""
    storage, kills, chance = sys.argv[1], int(sys.argv[2]), random.Random(sys.argv[3])
    study = kept_study()
    whole = undisturbed_seconds(study)  # what it caches, children inherit
    at_work = 0
    for _ in range(kills):
        child = os.fork()
        if child == 0:
            drive(storage, study)
            os._exit(0)
        time.sleep(chance.uniform(0.0, whole / 6))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        at_work += os.WIFSIGNALED(status)
    drive(storage, study)
    print(at_work)


if __name__ == "__main__":
    main()
