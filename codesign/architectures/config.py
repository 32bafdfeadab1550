"""Read a Hugging Face config.json and ask it for fields; every complaint names field and file."""

import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codesign.errors import DataError
from codesign.paths import read_whole

MAX_BYTES: Final = 16 * 2**20  # some published ones have megabytes of quantisation lists
MAX_FIELD: Final = 10**8  # above any width, vocabulary or layer count; keeps products exact
MAX_LAYERS: Final = 10_000


@dataclass(frozen=True)
class Config:
    """A typed view on the language model's part of one config.json.

    Parameters
    ----------
    path : Path
        The file, for messages.
    text, outer : mapping
        The ``text_config`` where the file has one, and the whole file; the same otherwise.
    """

    path: Path
    text: Mapping[str, Any]
    outer: Mapping[str, Any]

    @property
    def nested(self) -> bool:
        """The language model is described in a ``text_config``."""
        return self.text is not self.outer

    @property
    def model_type(self) -> str:
        """The ``model_type`` of the language model; an unnamed one has that of the whole."""
        name = self.text.get("model_type") or self.outer.get("model_type")
        if not isinstance(name, str):
            raise self.missing("model_type")
        return name

    @property
    def layers(self) -> int:
        """Decoder layers [layer]."""
        layers = self.integer("num_hidden_layers", "n_layers")
        if layers > MAX_LAYERS:
            raise self.fault("num_hidden_layers", f"must be at most {MAX_LAYERS:,}", layers)
        return layers

    def value(self, *names: str) -> tuple[str, Any]:
        """Return the first of these fields that is given and not null, or ``("", None)``."""
        for name in names:
            if self.text.get(name) is not None:
                return name, self.text[name]
        return "", None

    def has(self, *names: str) -> bool:
        """One of these fields is given and not null."""
        return self.value(*names)[0] != ""

    def integer(self, *names: str, default: int | None = None, least: int = 1) -> int:
        """Return a whole number: of the first name given, else the default of its class.

        A list of equal numbers, one per layer, is that number.

        Raises
        ------
        DataError
            Missing without default, not a whole number, out of range, or differing by layer.
        """
        name, value = self.value(*names)
        if not name:
            if default is None:
                raise self.missing(*names)
            return default
        if isinstance(value, list) and value:
            for layer, item in enumerate(value):
                if item != value[0]:
                    raise self.fault(
                        name, f"differs at layer {layer}, and one value is counted", item
                    )
            value = value[0]
        return self._checked(name, value, least)

    def integers(self, name: str, least: int = 0) -> list[int]:
        """Return a list of whole numbers; empty where the field is absent."""
        _, value = self.value(name)
        items = [] if value is None else value
        if not isinstance(items, list):
            raise self.fault(name, "must be a list of whole numbers", items)
        return [self._checked(name, item, least) for item in items]

    def words(self, name: str, known: Mapping[str, Any] | None = None) -> list[str]:
        """Return a list of words, one per layer; empty where the field is absent."""
        _, value = self.value(name)
        items = [] if value is None else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise self.fault(name, "must be a list of words, one per layer", items)
        if items and len(items) != self.layers:
            raise self.fault(name, f"must have one item per layer ({self.layers})", len(items))
        for item in items:
            if known is not None and item not in known:
                raise self.fault(name, f"knows {', '.join(known)}", item)
        return items

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false; the default of its class where absent."""
        _, value = self.value(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.fault(name, "must be true or false", value)
        return value

    def mapping(self, *names: str) -> Mapping[str, Any]:
        """Return a nested object; empty where absent."""
        name, value = self.value(*names)
        if not name:
            return {}
        if not isinstance(value, dict):
            raise self.fault(name, "must be an object", value)
        return value

    def part(self, name: str) -> "Config":
        """Return the view on a nested object that must be there, over the fields around it."""
        if not self.has(name):
            raise self.missing(name)
        return Config(self.path, {**self.text, **self.mapping(name)}, self.outer)

    def missing(self, *names: str) -> DataError:
        """Return the error for a field that is not there."""
        return DataError(f"{self.path}: field {' or '.join(names)} is missing")

    def fault(self, name: str, rule: str, value: object) -> DataError:
        """Return the error for a field whose value breaks a rule."""
        return DataError(f"{self.path}: field {name} {rule} ({shown(value)})")

    def _checked(self, name: str, value: object, least: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fault(name, "must be a whole number", value)
        if not least <= value <= MAX_FIELD:
            raise self.fault(name, f"must be from {least} to {MAX_FIELD:,}", value)
        return value


def read_config(path: Path) -> Config:
    """Read a config.json.

    Raises
    ------
    DataError
        It is too large, not JSON, or not an object.
    """
    data = read_json_object(path)
    text = data.get("text_config")
    if text is not None and not isinstance(text, dict):
        raise DataError(f"{path}: field text_config must be an object ({shown(text)})")
    return Config(path, text or data, data)


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds one object; bare ``Infinity`` and ``NaN`` are let through.

    Raises
    ------
    DataError
        It cannot be read, is too large, not JSON, or not an object.
    """
    data: object
    try:
        data = json.loads(read_whole(path, MAX_BYTES, "a config.json"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except RecursionError:
        raise DataError(f"{path}: nested too deeply to be a config.json") from None
    except ValueError as error:  # not JSON, not UTF-8, or a number of thousands of digits
        raise DataError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(data, dict):
        raise DataError(f"{path}: must hold one JSON object ({shown(data)})")
    return data


def shown(value: object) -> str:
    """Return a value as a message shows it: short, on one line, no deeper than a few levels."""
    return reprlib.repr(value)
