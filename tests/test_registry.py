"""Objectives and constraints: found by name, by entry point, by path; one name each."""

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from codesign import registry as registry_module
from codesign.constraints import list_constraints
from codesign.errors import InfeasibleError, UsageError
from codesign.objectives import list_objectives
from codesign.registry import Registry

CONTRACT = '''
from abc import ABC, abstractmethod

class Greeting(ABC):
    """A word to say."""

    name: str
    volume: int = 3

    @abstractmethod
    def say(self) -> str: ...
'''

HELLO = """
from {package} import Greeting

class Hello(Greeting):
    name = "hello"

    def __init__(self, times: int = 1) -> None:
        self.times = int(times)

    def say(self):
        return "hello " * self.times
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A package with a contract and one implementation; its name is the test's own."""
    name = f"greetings_{abs(hash(request.node.nodeid))}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text(CONTRACT)
    (folder / "hello.py").write_text(HELLO.format(package=name))
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.fixture
def greetings(package: str) -> Registry[object]:
    base = __import__(package).Greeting
    return Registry(base, package, "greeting")


def extension(folder: Path, text: str, name: str = "extension.py") -> str:
    (folder / name).write_text(text)
    return name


def test_a_module_is_an_implementation_of_its_own_name(greetings: Registry[object]) -> None:
    assert greetings.names() == ["hello"]
    assert greetings.kind("hello").__name__ == "Hello"
    assert greetings.make("hello", {"times": 2}).say() == "hello hello "  # type: ignore[attr-defined]


def test_nothing_is_imported_by_listing(greetings: Registry[object], package: str) -> None:
    greetings.names()
    assert f"{package}.hello" not in sys.modules


def test_an_unknown_name(greetings: Registry[object]) -> None:
    with pytest.raises(UsageError) as caught:
        greetings.kind("hallo")
    assert str(caught.value) == (
        "unknown greeting 'hallo'; did you mean 'hello'?; see 'codesign list greetings'"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": 2}, "greeting hello: unknown option 'time'; did you mean 'times'?"),
        ({"xyzzy": 2}, "greeting hello: unknown option 'xyzzy'; known: times"),
        ({"times": "often"}, "greeting hello: times must be a whole number, not 'often'"),
        ({"times": None}, "greeting hello: times must be a whole number, not None"),
        ({"times": 4.7}, "greeting hello: times must be a whole number, not 4.7"),
        ({"times": True}, "greeting hello: times must be a whole number, not True"),
        ({"times": "4"}, "greeting hello: times must be a whole number, not '4'"),
    ],
)
def test_wrong_options(
    greetings: Registry[object], options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        greetings.make("hello", options)
    assert str(caught.value).startswith(message)


def test_a_file_relative_to_the_study(
    greetings: Registry[object], package: str, tmp_path: Path
) -> None:
    extension(tmp_path, HELLO.format(package=package))
    made = greetings.make("extension.py", {"times": 1}, folder=tmp_path)
    assert made.say() == "hello "  # type: ignore[attr-defined]
    assert greetings.kind("extension.py", tmp_path) is greetings.kind("extension.py", tmp_path)


def test_files_of_one_name_in_two_folders_are_two(
    greetings: Registry[object], package: str, tmp_path: Path
) -> None:
    kinds = []
    for folder_name, name in (("a", "b.py"), ("b", "b.py"), ("a_b", "c.py"), ("a", "b_c.py")):
        folder = tmp_path / folder_name
        folder.mkdir(exist_ok=True)
        extension(folder, HELLO.format(package=package), name)
        kinds.append(greetings.kind(name, folder))
    assert len(set(kinds)) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise KeyError('x')\n", "cannot be loaded: KeyError: 'x'"),
        ("import no_such_module_here\n", "cannot be loaded: ModuleNotFoundError: No module named"),
        ("x = (\n", "cannot be loaded: SyntaxError: "),
        ("raise SystemExit(0)\n", "cannot be loaded: SystemExit: 0"),
        ("\x00", "cannot be loaded: "),
    ],
)
def test_a_file_that_cannot_be_imported(
    greetings: Registry[object], tmp_path: Path, text: str, message: str
) -> None:
    extension(tmp_path, text)
    for _ in range(2):  # a broken module is not kept
        with pytest.raises(UsageError) as caught:
            greetings.kind("extension.py", tmp_path)
        assert f"{tmp_path / 'extension.py'} {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the module must define exactly one subclass of {package}.Greeting, not 0"),
        (
            HELLO + "class Second(Hello):\n    pass\n",
            "the module must define exactly one subclass of {package}.Greeting, not 2",
        ),
        (
            "from {package} import Greeting\nclass Mute(Greeting):\n    name = 'mute'\n",
            "Can't instantiate abstract class Mute",
        ),
        (HELLO.replace('    name = "hello"\n', ""), "its class must say what its name is"),
        (
            HELLO.replace("self.times = int(times)", "raise RuntimeError('boom')"),
            "boom",
        ),
    ],
)
def test_a_file_that_breaks_the_contract(
    greetings: Registry[object], package: str, tmp_path: Path, text: str, message: str
) -> None:
    extension(tmp_path, text.format(package=package))
    with pytest.raises(UsageError) as caught:
        greetings.make("extension.py", folder=tmp_path)
    assert str(caught.value).startswith("greeting extension.py: ")
    assert message.format(package=package) in str(caught.value)


@pytest.mark.parametrize("mistake", ["int('x')", "[].x", "helper(None + 1)", "helper(0)"])
def test_what_an_extension_raises_has_its_line(
    greetings: Registry[object], package: str, tmp_path: Path, mistake: str
) -> None:
    text = HELLO.format(package=package)
    lines = text.replace("self.times = int(times)", mistake).splitlines()
    line = next(number for number, text in enumerate(lines, 1) if mistake in text)
    if mistake == "helper(0)":  # the line that fails, not the one that calls it
        lines += ["", "def helper(number):", "    return 1 / number"]
        line = len(lines)
    extension(tmp_path, "\n".join(lines) + "\n")
    with pytest.raises(UsageError, match=rf"extension\.py:{line}\)$"):
        greetings.make("extension.py", folder=tmp_path)


def test_an_error_with_a_status_of_its_own_keeps_it(
    greetings: Registry[object], package: str, tmp_path: Path
) -> None:
    text = HELLO.replace(
        "self.times = int(times)",
        "from codesign.errors import InfeasibleError; raise InfeasibleError('nothing')",
    )
    extension(tmp_path, text.format(package=package))
    with pytest.raises(InfeasibleError, match="nothing"):
        greetings.make("extension.py", folder=tmp_path)


def test_a_file_that_is_not_there(greetings: Registry[object], tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        greetings.kind("none.py", tmp_path)
    assert str(caught.value) == f"{tmp_path / 'none.py'}: no such file"


def test_third_parties_announce_theirs_by_entry_point(
    greetings: Registry[object], package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{package}_plugin.py").write_text(HELLO.format(package=package))

    def announced(group: str) -> list[EntryPoint]:
        assert group == package
        return [
            EntryPoint("wave", f"{package}_plugin:Hello", group),
            EntryPoint("lost", "no_such_module_here:Hello", group),
        ]

    monkeypatch.setattr(registry_module, "entry_points", announced)
    assert greetings.names() == ["hello", "lost", "wave"]
    assert greetings.make("wave").say() == "hello "  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="lost cannot be loaded: ModuleNotFoundError"):
        greetings.kind("lost")


ONE_NAME = """
import sys
from pathlib import Path
from codesign.objectives import list_objectives, objective_class
from codesign.constraints import constraint_class, list_constraints
from codesign.spec.study import Study
from codesign.study import make_problem

for name in list_objectives():
    objective_class(name)
for name in list_constraints():
    constraint_class(name)
make_problem(Study.from_data({
    "hardware": "h100", "workload": {"target_batch_size": 32}, "uncertainty": {"draws": 0},
    "objectives": ["sd_speedup", "loss_difference"],
}))
names = {}
for name, module in list(sys.modules.items()):
    path = getattr(module, "__file__", None)
    if path and Path(path).parent.name in ("objectives", "constraints"):
        names.setdefault(Path(path).resolve(), []).append(name)
for path, found in sorted(names.items()):
    print(path.stem, *found)
"""


def test_every_root_extension_is_imported_under_one_name_only() -> None:
    # structure.md: a test asserts that no root objective or constraint is imported under two names.
    done = subprocess.run(
        [sys.executable, "-c", ONE_NAME], capture_output=True, text=True, check=True
    )
    modules = dict(
        line.split(" ", 1) for line in done.stdout.splitlines() if "__init__" not in line
    )
    expected = {name: f"codesign.objectives.{name}" for name in list_objectives()}
    expected |= {name: f"codesign.constraints.{name}" for name in list_constraints()}
    assert modules == expected
