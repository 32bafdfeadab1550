"""Ways to break a file: in the structure of its document, and in its bytes."""

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any, Final

import yaml

EXTREMES: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 2, 8, 0.5, 4.7, -0.0, 1e-9, 1e308, 5e-324, -1e308,
    float("nan"), float("inf"), -float("inf"),
    2**31, 2**53 + 1, 2**63, 10**15, 10**20, 10**400, -(10**20),
    "", " ", "x", "0", "-1", "nan", "inf", "1e999", "1e308 GB", "-3 GB", "5e-324 s", "1e18",
    "1" * 400, "1:100000", "8:128:8", "1e400x", "0x", "true", "null", "fp8", "eagle", "h100",
    "model:1e15", "fraction:1e308", "constant:1", "positions:1,1,1",
    "\x1b[31mred", "\x1b]8;;http://x\x07y", "\u202etxt.exe", "\x00", "\n", "\ud800",
    "<script>alert(1)</script>", "=1+1", "../../x", "/dev/zero", "a/b\\c", "%s{0}", "é" * 50,
    [], {}, [[]], [None], [1, 2], {"a": 1}, {"": {}}, [{}], [[1], [2]], [0] * 50,
)  # fmt: skip
"""What somebody's script writes in the place of a value."""

BYTES: Final[tuple[bytes, ...]] = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\x1b[2J", b"\r",
    b"\x85", b"-", b".", b"9", b"0", b"e999", b"9" * 5000, b"NaN", b"Infinity", b"null", b"{", b"[",
    b"}", b"]", b'"', b"'", b",", b":", b"\n", b"\t", b" ", b"&a ", b"*a ", b"!!python/none ",
    b"!!binary ", b"!!set ", b"<<: ", b"? ", b"- ", b"--- ", b"# ", b"%", b"@", b"[" * 3000,
    b"(" * 50, b"\x1f\x8b", b"PK\x03\x04", b"\x93NUMPY", b"\x80\x04",
)  # fmt: skip
"""What is put between the bytes of a file."""


def mutated(document: Any, chance: Random) -> Any:
    """Return a copy of a document with one to three of its nodes changed."""
    changed = [deepcopy(document)]  # so that the whole document is a node too
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if not changed:
            break
        container, key = chance.choice(list(_places(changed)))
        _change(container, key, chance, changed)
    return changed[0] if changed else None


def _change(container: Any, key: Any, chance: Random, whole: Any) -> None:
    match chance.randrange(8):
        case 0:
            del container[key]
        case 1:
            _duplicate(container, key)
        case 2:  # another part of the document in its place
            other, place = chance.choice(list(_places(whole)))
            container[key] = deepcopy(other[place])
        case 3:
            container[key] = _retyped(container[key], chance)
        case 4:
            _rename(container, key, chance)
        case _:
            container[key] = deepcopy(chance.choice(EXTREMES))


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container with every key in it."""
    keys = list(node) if isinstance(node, dict) else range(len(node))
    for key in keys:
        yield node, key
        if isinstance(node[key], dict | list):
            yield from _places(node[key])


def _duplicate(container: Any, key: Any) -> None:
    copy = deepcopy(container[key])
    if isinstance(container, list):
        container.insert(key, copy)
    else:
        container[f"{key} "] = copy


def _rename(container: Any, key: Any, chance: Random) -> None:
    value = container[key]
    if isinstance(container, dict):
        del container[key]
        container[str(chance.choice(EXTREMES))] = value
    else:
        container[key] = [value]


def _retyped(value: Any, chance: Random) -> Any:
    """The same content as another type."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int) and abs(value) > 2**1000:  # no float holds it
        return [str(value)]
    if isinstance(value, int | float):
        return chance.choice([str(value), [value], -value, value + 0.5, value * 1000, float(value)])
    if isinstance(value, str):
        return chance.choice([[value], {value: value}, value * 50, list(value), value.upper()])
    return chance.choice([str(value), list(value)[:1], {"0": value}, len(value)])


def spoiled(data: bytes, chance: Random) -> bytes:
    """Return bytes cut off, overwritten, put in, doubled or left out in a few places."""
    content = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(content) + 1)
        to = min(len(content), at + chance.choice((1, 1, 4, 64, 1000)))
        match chance.randrange(6):
            case 0:
                del content[at:]
            case 1:
                del content[at:to]
            case 2 if content:
                content[min(at, len(content) - 1)] = chance.randrange(256)
            case 3:
                content[at:at] = content[at:to]
            case 4 if content:
                start = chance.randrange(len(content))
                content[at:to] = content[start : start + to - at]
            case _:
                content[at:at] = chance.choice(BYTES)
    return bytes(content)


def as_json(document: Any) -> bytes:
    """Write a document as JSON; bare NaN and Infinity as engines write them."""
    return json.dumps(document, default=str).encode("utf-8", "surrogatepass")


def as_yaml(document: Any) -> bytes:
    """Write a document as YAML."""
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return text.encode("utf-8", "surrogatepass")
