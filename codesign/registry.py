"""One registry idea for objectives and constraints: a file each, an entry point, or a path."""

import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from functools import cached_property, partial
from importlib.metadata import EntryPoint, entry_points
from math import inf
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any, Final, Generic, TypeVar

from codesign.errors import NAME, CodesignError, UsageError, did_you_mean, field, printable
from codesign.paths import is_file

Kind = TypeVar("Kind")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < inf


OPTION_TYPES: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "int": ("a whole number", lambda value: _is_number(value) and isinstance(value, int)),
    "float": ("a finite number", _is_number),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "str": ("text", lambda value: isinstance(value, str)),
}
"""What an option of an annotated type may be, in words and as a test."""
SHOWN: Final = ("name", "unit")
"""What every report says of an objective or constraint."""
ANY: Final[tuple[str, Callable[[Any], bool]]] = ("", lambda value: True)


def extend_with_checkout(package_path: list[str], folder: str) -> None:
    """In a checkout, let a package see the root folder that a wheel carries inside it."""
    root = Path(__file__).resolve().parents[1]
    project = root / "pyproject.toml"
    if project.is_file() and 'name = "codesign"' in project.read_text(encoding="utf-8"):
        package_path.append(str(root / folder))


class Registry(Generic[Kind]):
    """Implementations of one contract, found by name and imported when asked for.

    Parameters
    ----------
    base : type
        The contract; every implementing module defines exactly one subclass.
    package : str
        Package in which each module is an implementation of its own name; also the entry point
        group in which third parties announce theirs.
    noun : str
        For messages.
    """

    def __init__(self, base: type[Any], package: str, noun: str) -> None:
        self._base, self._package, self._noun = base, package, noun

    def names(self) -> list[str]:
        """Return the names of all implementations, without importing them."""
        package = importlib.import_module(self._package)
        bundled = [module.name for module in pkgutil.iter_modules(package.__path__)]
        return sorted({*bundled, *self._announced})

    @cached_property
    def _announced(self) -> dict[str, EntryPoint]:
        """What third parties announce, by name; looking through all packages takes its time."""
        return {entry.name: entry for entry in entry_points(group=self._package)}

    def kind(self, name: str, folder: Path | None = None) -> type[Kind]:
        """Return the class of that name, or defined in that file (relative to `folder`).

        Raises
        ------
        UsageError
            If there is none, or its module cannot be imported.
        """
        if name.endswith(".py"):
            return self._sole_class(module_of_file((folder or Path()) / name), name)
        if name in self._announced:
            return self._of_contract(_loaded(name, self._announced[name].load), name)
        if name not in self.names():
            hint = did_you_mean(name, self.names())
            with field(NAME):
                raise UsageError(
                    f"unknown {self._noun} {name!r}{hint}; see 'codesign list {self._noun}s'"
                )
        full_name = f"{self._package}.{name}"
        module: ModuleType = _loaded(name, lambda: importlib.import_module(full_name))
        return self._sole_class(module, name)

    def make(
        self, name: str, options: Mapping[str, Any] | None = None, folder: Path | None = None
    ) -> Kind:
        """Return an instance, its options checked against the constructor's parameters.

        Raises
        ------
        UsageError
            As `kind`, and for an unknown or invalid option.
        """
        kind = self.kind(name, folder)
        self._check_options(kind, name, options or {})
        made: Kind = self._constructed(name, partial(kind, **(options or {})))
        for attribute in inspect.get_annotations(self._base):
            if not hasattr(made, attribute):
                raise UsageError(f"{self._noun} {name}: its class must say what its {attribute} is")
            text = getattr(made, attribute) if attribute in SHOWN else "-"
            if not isinstance(text, str) or not text or printable(text) != text:
                raise UsageError(
                    f"{self._noun} {name}: its {attribute} must be printable text, not {text!r}"
                )
        return made

    def _constructed(self, name: str, construct: Callable[[], Kind]) -> Kind:
        """Run a constructor; that an option is out of its range needs no name of an exception."""

        def checked() -> Kind:
            try:
                return construct()
            except (TypeError, ValueError) as error:
                place = _line_of_extension(error)
                raise UsageError(f"{self._noun} {name}: {error}{place}") from error

        made: Kind = contained(f"{self._noun} {name}", checked)
        return made

    def _of_contract(self, loaded: object, name: str) -> type[Kind]:
        if not (isinstance(loaded, type) and issubclass(loaded, self._base)):
            raise UsageError(
                f"{self._noun} {name}: its entry point leads to {type(loaded).__name__}, not to a "
                f"subclass of {self._base.__module__}.{self._base.__qualname__}"
            )
        return loaded

    def _check_options(self, kind: type[Kind], name: str, options: Mapping[str, Any]) -> None:
        """Hold options to a constructor's names and annotations: 4.7 is no int, nor is true."""
        parameters = inspect.signature(kind).parameters
        for option, value in options.items():
            with field(option):
                if option not in parameters:
                    known = f"; known: {', '.join(parameters) or 'none'}"
                    hint = did_you_mean(option, parameters) or known
                    raise UsageError(f"{self._noun} {name}: unknown option {option!r}{hint}")
                annotation = parameters[option].annotation
                words, holds = OPTION_TYPES.get(getattr(annotation, "__name__", annotation), ANY)
                if not holds(value):
                    raise UsageError(
                        f"{self._noun} {name}: {option} must be {words}, not {value!r}"
                    )

    def _sole_class(self, module: ModuleType, name: str) -> type[Kind]:
        found = [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, self._base)
            and value.__module__ == module.__name__
        ]
        if len(found) != 1:
            raise UsageError(
                f"{self._noun} {name}: the module must define exactly one subclass of "
                f"{self._base.__module__}.{self._base.__qualname__}, not {len(found)}"
            )
        return found[0]


def contained(name: str, compute: Callable[[], Any], failing: str = "") -> Any:
    """Run code of an extension, which may do anything short of ending the process.

    What it prints goes to standard error, so that answers stay readable by programs.

    Parameters
    ----------
    name : str
        Of the extension, for the message.
    compute : callable
    failing : str
        What it means that it fails, where that is not evident.

    Raises
    ------
    UsageError
        If it raises or exits: that is the user's to mend.
    KeyboardInterrupt
        After saying what was at work.
    """
    try:
        with redirect_stdout(sys.stderr):
            return compute()
    except CodesignError as error:
        place = _line_of_extension(error)
        if not place:
            raise
        placed = type(error)(f"{name}{failing}: {error}{place}")
        placed.at = error.at
        raise placed from error
    except KeyboardInterrupt:  # which is how one that never ends is stopped
        print(f"stopped in {printable(name)}", file=sys.stderr)
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        place = _line_of_extension(error)
        raise UsageError(f"{name}{failing}: {type(error).__name__}: {error}{place}") from error


def _line_of_extension(error: BaseException) -> str:
    """Return `` (file:line)`` of where an extension's own code was; nothing for codesign's own."""
    outside = [
        (frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
        if (module := str(frame.f_globals.get("__name__")).partition(".")[0]) != "codesign"
        and module not in sys.stdlib_module_names
    ]
    if not outside:
        return ""
    own = outside[0][0]  # beyond it lies what the extension calls
    return f" ({own}:{[line for file, line in outside if file == own][-1]})"


def _loaded(name: str, load: Callable[[], Any]) -> Any:
    return contained(name, load, " cannot be loaded")


EXTENSION_MODULE: Final = "codesign_extension_"
"""What the modules of extensions given by their paths are called by, before their own names."""


def module_of_file(path: Path) -> ModuleType:
    """Import an extension from its file, once.

    Raises
    ------
    UsageError
        If there is no such file, or its import fails.
    """
    if not is_file(path):
        raise UsageError(f"{path}: no such file")
    place = hashlib.sha256(path.resolve().as_posix().encode()).hexdigest()[:16]
    module_name = f"{EXTENSION_MODULE}{path.stem}_{place}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        _loaded(str(path), partial(spec.loader.exec_module, module))
    except UsageError:
        del sys.modules[module_name]
        raise
    return module
