"""Objectives and constraints of others: whatever they do, they are named, and nothing is lost."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import codesign.registry
from codesign.objectives import list_objectives
from tests.cli.command_line import Done, run

SMALL = ["--hw", "h100", "--target-bs", "8", "--experts", "64,128", "--draft-tokens", "0:1"]
SEARCHED = [*SMALL, "--engine", "exact"]

OBJECTIVE = """
import numpy as np
from codesign.objectives import Objective

{before}
class Own(Objective):
    name, direction, unit = "own", "maximize", "-"

    def evaluate(self, prediction):
        {body}
"""
CONSTRAINT = """
import numpy as np
from codesign.constraints import Assessment, Constraint, at_most

{before}
class Own(Constraint):
    name, unit = "own", "-"

    def assess(self, prediction, reference):
        {body}
"""
TIMES = "prediction.value('sd_tpot')"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def asked(kind: str, body: str, before: str = "", *more: str) -> Done:
    """Optimize with an extension of one file, given by its path."""
    text = {"objectives": OBJECTIVE, "constraints": CONSTRAINT}[kind]
    Path("own.py").write_text(text.format(body=body, before=before))
    named: Any = ["own.py"] if kind == "objectives" else {"own.py": True}
    study = {"hardware": "h100", "workload": {"target_batch_size": 8}, kind: named}
    Path("s.yaml").write_text(json.dumps(study))
    return run("optimize", "--study", "s.yaml", *SEARCHED, "--draws", "0", *more)


def refused(done: Done) -> str:
    """The one message of what could not be used."""
    assert (done.status, done.out) == (2, ""), done.err
    assert "Traceback" not in done.err
    assert done.err.count("\n") == 1
    return done.err.removeprefix("error: ").rstrip("\n")


FAILURES = [
    ("raise ValueError('no')", "own: ValueError: no"),
    ("raise KeyError('no')", "own: KeyError: 'no'"),
    ("1 / 0", "own: ZeroDivisionError"),
    ("f = lambda: f(); f()", "own: RecursionError"),
    ("raise SystemExit(0)", "own: SystemExit: 0"),
    ("import sys; sys.exit('bye')", "own: SystemExit: bye"),
    ("raise MemoryError", "own: MemoryError"),
    ("raise GeneratorExit", "own: GeneratorExit"),
    ("return prediction.value('sd_speed')", "unknown figure 'sd_speed'; did you mean"),
    ("prediction.total_params[...] = 0", "own: ValueError: assignment destination is read-only"),
    ("prediction.sd_tpot_s[...] = 0", "own: ValueError: assignment destination is read-only"),
    ("prediction.designs.top_k[...] = 1", "own: ValueError: assignment destination is read-only"),
    ("prediction.scenario.context = 1", "own: FrozenInstanceError"),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["objectives", "constraints"])
@pytest.mark.parametrize(("body", "message"), FAILURES)
def test_what_fails_is_named(kind: str, body: str, message: str) -> None:
    assert message in refused(asked(kind, body))


@pytest.mark.parametrize(
    "returned",
    [
        "None", "'text'", "['1.5']", "{}", "object()", "np.nan", "np.inf", "[1.0, 2.0, 3.0]",
        f"{TIMES} * 1j", f"{TIMES}.astype(str)", f"{TIMES}.astype(object)", f"{TIMES} * np.nan",
        f"np.zeros((7, *{TIMES}.shape))", f"{TIMES}.astype('datetime64[s]')", "lambda: 1",
        f"np.ma.masked_array({TIMES}, mask=True)",
    ],
)  # fmt: skip
def test_what_is_no_number_per_design_is_named(returned: str) -> None:
    assert refused(asked("objectives", f"return {returned}")).startswith("own: returned ")


@pytest.mark.parametrize(
    "returned",
    [
        "None", "True", "1.0", f"{TIMES} < 1", "at_most('a', 1)", f"at_most({TIMES}, np.nan)",
        f"Assessment({TIMES}, 1.0, None)", f"Assessment({TIMES}, np.array('x'), {TIMES})",
    ],
)  # fmt: skip
def test_what_is_no_assessment_is_named(returned: str) -> None:
    assert refused(asked("constraints", f"return {returned}")).startswith("own: ")


@pytest.mark.parametrize("kind", ["objectives", "constraints"])
@pytest.mark.parametrize(
    "before",
    ["raise RuntimeError('no')", "import sys; sys.exit(3)", "import nothing_of_that_name", "x ="],
)
def test_what_fails_when_imported_is_named(kind: str, before: str) -> None:
    assert "own.py cannot be loaded: " in refused(asked(kind, f"return {TIMES}", before))


@pytest.mark.parametrize("raw", [b"\x00", b"\xff\xfe", b"\x80", b"(" * 10_000])
def test_a_file_that_is_no_python_is_named(raw: bytes) -> None:
    Path("own.py").write_bytes(raw)
    Path("s.yaml").write_text(
        "hardware: h100\nworkload: {target_batch_size: 8}\nobjectives: [own.py]\n"
    )
    assert "own.py" in refused(run("optimize", "--study", "s.yaml", *SEARCHED))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def natural_step(self, assessment): raise ValueError('no')", "own: ValueError: no"),
        ("def natural_step(self, assessment): return 'much'", "own: returned no number"),
        ("def natural_step(self, assessment): return float('nan')", "own: returned NaN"),
        ("def __init__(self): raise SystemExit(0)", "own.py: SystemExit: 0"),
        ("def __init__(self): self.name = 3", "its name must be printable text, not 3"),
        ("def __init__(self): self.name = 'a\\x1b[2J'", "its name must be printable text"),
        ("def __init__(self): self.name = ''", "its name must be printable text"),
        ("def __init__(self): self.unit = None", "its unit must be printable text"),
    ],
)
def test_the_rest_of_a_contract(body: str, message: str) -> None:
    text = CONSTRAINT.format(before="", body="return at_most(prediction.value('sd_tpot'), 1.0)")
    Path("own.py").write_text(f"{text}\n    {body}\n")
    Path("s.yaml").write_text(
        "hardware: h100\nworkload: {target_batch_size: 8}\nconstraints: {own.py: true}\n"
    )
    assert message in refused(run("optimize", "--study", "s.yaml", *SEARCHED, "--draws", "0"))


def test_what_an_extension_prints_is_not_in_the_answer() -> None:
    body = f"print('seen'); return {TIMES}"
    done = asked("objectives", body, "print('imported')", "--format", "json")
    assert done.status == 0
    json.loads(done.out)
    assert "seen" in done.err and "imported" in done.err


@pytest.mark.parametrize("most", range(1, 9))
def test_an_objective_that_fails_later_is_named(most: int) -> None:
    """Wherever in an answer it is asked again."""
    body = f"calls.append(1); assert len(calls) < {most}; return {TIMES}"
    done = asked("objectives", body, "calls = []")
    assert done.status in (0, 2), done.err
    assert "Traceback" not in done.err
    assert done.status == 0 or "own: AssertionError" in done.err


def test_a_sampler_that_is_none_is_not_called() -> None:
    for path in ("os.abort", "sys.exit", "subprocess.Popen", "builtins.exit"):
        done = run("optimize", *SMALL, "--engine", "optuna", "--sampler", path)
        assert "is not an Optuna sampler" in refused(done)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("json:loads", "its entry point leads to function, not to a subclass"),
        ("json:nothing", "odd cannot be loaded: AttributeError"),
        ("no.module:X", "odd cannot be loaded: ModuleNotFoundError"),
        ("json:JSONDecoder", "its entry point leads to type, not to a subclass"),
    ],
)
def test_entry_points(value: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def announced(group: str) -> list[EntryPoint]:
        return [EntryPoint("odd", value, group)] if group == "codesign.objectives" else []

    monkeypatch.setattr(codesign.registry, "entry_points", announced)
    codesign.objectives._REGISTRY.__dict__.pop("_announced", None)
    try:
        assert "odd" in list_objectives()
        assert message in refused(run("optimize", *SEARCHED, "--objective", "odd"))
    finally:
        codesign.objectives._REGISTRY.__dict__.pop("_announced", None)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["import", "evaluate"])
def test_ctrl_c_in_an_extension_that_hangs_names_it(place: str) -> None:
    hang = "import time; open('hangs', 'w').close(); time.sleep(600)"
    before, body = (hang, "return 1") if place == "import" else ("", hang)
    Path("own.py").write_text(OBJECTIVE.format(before=before, body=body))
    Path("s.yaml").write_text(
        "hardware: h100\nworkload: {target_batch_size: 8}\nobjectives: [own.py]\n"
    )
    command = "from codesign.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "optimize", "--study", "s.yaml", *SEARCHED],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        _wait(lambda: Path("hangs").exists())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.startswith("stopped in own")
    assert "interrupted; every file is whole" in err
    assert "Traceback" not in err


def _wait(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not done():
        assert time.monotonic() < until, "it never came so far"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_worker_that_an_extension_ends_is_no_hang() -> None:
    body = f"import os, multiprocessing as m; m.parent_process() and os._exit(3); return {TIMES}"
    done = asked("objectives", body, "", "--workers", "2")
    assert done.status in (0, 2)
    assert "Traceback" not in done.err
