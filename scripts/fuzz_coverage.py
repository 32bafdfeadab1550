"""Let coverage choose hostile bytes for the readers of one kind of file.

    python scripts/fuzz_coverage.py KIND [-max_total_time=300 ...]

Kinds are those of scripts/fuzz.py; further options are libFuzzer's. The first fault ends the run
and leaves its input as crash-*. It needs atheris (pip install atheris), which is no dependency of
this project: it has wheels for some versions of Python on Linux only.
"""

import sys
import tempfile
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import atheris
except ImportError:
    sys.exit("coverage-guided fuzzing needs atheris: pip install atheris")

with atheris.instrument_imports(include=["codesign"]):
    from tests.hostile.kinds import KINDS
    from tests.hostile.outcome import judged


def main() -> None:
    """Run libFuzzer from good files on."""
    if len(sys.argv) < 2 or sys.argv[1] not in KINDS:
        sys.exit(f"name a kind: {', '.join(KINDS)}")
    kind = KINDS[sys.argv[1]]
    corpus, folder = tempfile.mkdtemp(prefix="corpus-"), Path(tempfile.mkdtemp())
    for number, document in enumerate(kind.documents()):
        (Path(corpus) / str(number)).write_bytes(kind.good(document))

    def one(content: bytes) -> None:
        outcome = judged(kind, content, folder, Random(0))
        if outcome.verdict == "fault":
            raise RuntimeError(f"{outcome.signature}\n{outcome.text}")

    atheris.Setup([sys.argv[0], *sys.argv[2:], corpus], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
