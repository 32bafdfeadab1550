"""Feed hostile files to every reader, in this process, and count how that ends.

    python scripts/fuzz.py --inputs 100000 [--seed 0] [--kind study ...] [--faults FOLDER]

Inputs are spread evenly over the kinds. Each is made from a good file by changing its document or
its bytes, and read as far as a user would take it: a study to a prediction, a result to its tables.
An input is clean if it is read to finite figures, or refused by one of the project's own errors
with the exit status of its kind. The first input of every fault is kept, with its traceback. Memory
is bounded, and an input that takes too long is a fault. Exits 1 if there was any fault.

scripts/fuzz_coverage.py lets coverage choose the bytes instead.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.hostile.kinds import KINDS, Kind
from tests.hostile.outcome import Outcome, judged

MEMORY = 4 * 2**30
"""Address space on top of what the imports take [B]."""


def main() -> int:
    """Run the inputs and print the table."""
    options = _options()
    kinds = [KINDS[name] for name in options.kind or KINDS]
    faults = 0
    print(f"{'kind':<14} {'inputs':>8} {'refused':>8} {'read':>8} {'faults':>7} {'s':>6}  peak MiB")
    for place, kind in enumerate(kinds):
        count = options.inputs * (place + 1) // len(kinds) - options.inputs * place // len(kinds)
        faults += _run(kind, count, options.seed, options.faults)
    return 1 if faults else 0


def _run(kind: Kind, count: int, seed: int, faults: Path) -> int:
    kind.documents()
    _bound_memory()
    found: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            chance = Random(f"{kind.name} {seed} {number}")
            content = kind.content(chance)
            outcome = judged(kind, content, Path(folder), chance)
            verdicts[outcome.verdict] += 1
            if outcome.verdict == "fault":
                found[outcome.signature] += 1
                if found[outcome.signature] == 1:
                    _keep(faults, kind, number, content, outcome)
    spent, peak = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{kind.name:<14} {count:>8,} {verdicts['refused']:>8,} {verdicts['read']:>8,} "
        f"{verdicts['fault']:>7,} {spent:>6.0f}  {peak // 1024:,}",
        flush=True,
    )
    for signature, times in found.most_common():
        print(f"    {times:>6,} x {signature}", flush=True)
    return verdicts["fault"]


def _keep(faults: Path, kind: Kind, number: int, content: bytes, outcome: Outcome) -> None:
    faults.mkdir(parents=True, exist_ok=True)
    name = f"{kind.name}-{number}".replace(" ", "_")
    (faults / f"{name}{kind.suffix}").write_bytes(content)
    (faults / f"{name}.txt").write_text(outcome.text, encoding="utf-8", errors="replace")


def _bound_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=100_000, help="in all [100000]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", nargs="*", choices=KINDS, help="[all]")
    parser.add_argument("--faults", type=Path, default=Path("faults"), help="folder [faults]")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
