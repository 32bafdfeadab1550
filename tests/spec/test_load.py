"""YAML specs: every complaint is ``file:line:column: path: rule (value); did you mean``."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codesign.errors import UsageError
from codesign.spec.architecture import Architecture
from codesign.spec.base import Spec
from codesign.spec.hardware import Hardware
from codesign.spec.load import MAX_BYTES, load_spec
from codesign.spec.study import Search, Study
from codesign.starters import starter_text

MINIMAL = "hardware: h100\nworkload:\n  target_batch_size: 32\n"

PROFILE = """\
name: mine
title: Mine
peak_compute:
  bf16: {value: 100 TFLOP/s, source: datasheet}
memory: {value: 80 GiB, source: datasheet}
memory_bandwidth: {value: 3 TB/s, source: datasheet}
"""

MODEL = """\
name: mine
family: mine
source: made up
hidden_size: 64
layers: 2
vocab_size: 100
attention:
- {kind: gqa, layers: 2, heads: 4, kv_heads: 2, head_dim: 16}
dense:
- layers: 2
  width: 256
"""


def complaint(folder: Path, text: str, kind: type[Spec] = Study) -> str:
    """Return what `load_spec` says about a file, without its path."""
    path = folder / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_spec(path, kind)
    message = str(caught.value)
    assert all(line.startswith(f"{path}:") for line in message.split("\n"))
    return message.replace(f"{path}:", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            MINIMAL + "  contxt: 512\n",
            "4:3: workload.contxt: unknown field 'contxt'; did you mean 'context'?",
            id="a typo stands where its key does",
        ),
        pytest.param(
            MINIMAL + "hardwre: h200\n",
            "4:1: hardwre: unknown field 'hardwre'; did you mean 'hardware'?",
            id="a typo at the top",
        ),
        pytest.param(
            MINIMAL + "search: {seed: 1, xyzzy: 2}\n",
            f"4:19: search.xyzzy: unknown field 'xyzzy'; known: {', '.join(Search.model_fields)}",
            id="an unknown field that resembles none",
        ),
        pytest.param(
            MINIMAL + "deployment:\n  gpus: 0\n",
            "5:9: deployment.gpus: input should be greater than or equal to 1 (0)",
            id="a wrong value stands where the value does",
        ),
        pytest.param(
            MINIMAL + "deployment: {gpus: '8'}\n",
            "4:20: deployment.gpus: input should be a valid integer ('8')",
            id="text is no number",
        ),
        pytest.param(
            MINIMAL + "deployment:\n  sd_overhead: 0.5\n",
            "5:16: deployment.sd_overhead: a time needs a unit (s, ms, us, µs, ...), for example "
            "'0.5 µs' (0.5)",
            id="a quantity without a unit",
        ),
        pytest.param(
            MINIMAL + "deployment:\n  sd_overhead: -1 ms\n",
            "5:16: deployment.sd_overhead: must be finite and not negative ('-1 ms')",
            id="a negative quantity",
        ),
        pytest.param(
            MINIMAL + "deployment:\n  price: 2 EUR/h\n",
            "5:10: deployment.price: unknown unit 'EUR/h' for a price; use one of USD/h "
            "('2 EUR/h')",
            id="a wrong unit",
        ),
        pytest.param(
            "hardware: h100\n",
            "1:1: workload: field required",
            id="a missing field",
        ),
        pytest.param(
            "hardware: h100\nworkload:\n  context: 3\n",
            "3:3: workload.target_batch_size: field required",
            id="a missing field stands at its parent",
        ),
        pytest.param(
            MINIMAL + "  context: -1\ndeployment:\n  gpus: 0\n",
            "4:12: workload.context: input should be greater than or equal to 0 (-1)\n"
            "6:9: deployment.gpus: input should be greater than or equal to 1 (0)",
            id="a line per fault",
        ),
        pytest.param(
            "hardware: h100\nworkload:\n  target_batch_size: 0\n",
            "3:22: workload.target_batch_size.0.batch_size: input should be greater than or equal "
            "to 1 (0)",
            id="an item at fault does not make its list too short",
        ),
        pytest.param(
            MINIMAL + "space:\n  experts: 8:4\n",
            "5:12: space.experts: the range '8:4' is empty: 4 < 8 ('8:4')",
            id="an empty range",
        ),
        pytest.param(
            MINIMAL + "space:\n  experts: []\n",
            "5:12: space.experts: the axis is empty ([])",
            id="an empty axis",
        ),
        pytest.param(
            MINIMAL + "space: {fix: [experts, expert]}\n",
            "4:24: space.fix.1: input should be 'experts', 'top_k' or 'shared_experts' ('expert')",
            id="an item of a list stands where the item does",
        ),
        pytest.param(
            MINIMAL + "draft: egle\n",
            "4:8: draft: a draft is eagle, mtp, fraction, model, each with ,parallel; did you mean "
            "'eagle'? ('egle')",
            id="the nearest word",
        ),
        pytest.param(
            MINIMAL + "routing: '" + "x" * 80 + "'\n",
            "4:10: routing: input should be 'own', 'generic', 'independent' or 'uniform' ('"
            + "x" * 56
            + "...)",
            id="a long value is cut",
        ),
        pytest.param("", "1:1: a mapping of fields is expected, not None", id="an empty file"),
        pytest.param("- 1\n", "1:1: a mapping of fields is expected, not [1]", id="a list"),
        pytest.param("42\n", "1:1: a mapping of fields is expected, not 42", id="a number"),
        pytest.param(
            MINIMAL + "hardware: h200\n",
            "4:1: not valid YAML: field 'hardware' is given twice",
            id="a field twice",
        ),
        pytest.param(
            "hardware: &x h100\nname: *x\n",
            "1:11: not valid YAML: aliases are not allowed",
            id="an alias",
        ),
        pytest.param(
            "hardware: [h100\nworkload: 3\n",
            "2:9: not valid YAML: expected ',' or ']', but got ':'",
            id="YAML that does not parse",
        ),
        pytest.param(
            "hardware: h100\n---\nhardware: h200\n",
            "2:1: not valid YAML: but found another document",
            id="two documents",
        ),
        pytest.param(
            MINIMAL + "deployment:\n  gpus: !!int abc\n",
            "5:9: not valid YAML: 'abc' is no value of type int",
            id="a tag its value does not fit",
        ),
        pytest.param(
            MINIMAL + "name: !!timestamp 2001-13-45\n",
            "4:7: not valid YAML: '2001-13-45' is no value of type timestamp",
            id="a date that is none",
        ),
        pytest.param(
            MINIMAL + "name: !!bool maybe\n",
            "4:7: not valid YAML: 'maybe' is no value of type bool",
            id="a truth value that is none",
        ),
        pytest.param(
            MINIMAL + "deployment:\n  gpus: " + "9" * 5000 + "\n",
            "5:9: not valid YAML: '" + "9" * 56 + "... is no value of type int",
            id="a number of thousands of digits",
        ),
        pytest.param(
            "? [a, b]\n: 1\n",
            "1:3: not valid YAML: bad key",
            id="a key that is no word",
        ),
    ],
)
def test_study(tmp_path: Path, text: str, message: str) -> None:
    assert complaint(tmp_path, text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            PROFILE.replace("3 TB/s", "3"),
            "6:27: memory_bandwidth.value: a bandwidth needs a unit (B/s, kB/s, MB/s, GB/s, ...), "
            "for example '3 GB/s' (3)",
            id="unitless bandwidth",
        ),
        pytest.param(
            PROFILE.replace("80 GiB", "-80 GiB"),
            "5:17: memory.value: must be finite and not negative ('-80 GiB')",
            id="negative memory",
        ),
        pytest.param(
            PROFILE.replace("80 GiB", "0 GiB"),
            "1:1: (top): memory must be positive",
            id="no memory",
        ),
        pytest.param(
            PROFILE.replace("bf16", "fp8"),
            "1:1: (top): peak_compute needs at least bf16",
            id="no bf16 peak",
        ),
        pytest.param(
            PROFILE.replace("bf16", "bf15"),
            "4:9: peak_compute.bf15: input should be 'bf16', 'fp8', 'fp4' or 'int8' ('bf15')",
            id="an unknown number format",
        ),
        pytest.param(
            PROFILE.replace(", source: datasheet}\nmemory:", "}\nmemory:"),
            "4:9: peak_compute.bf16.source: field required",
            id="a figure without a source",
        ),
        pytest.param(
            PROFILE + "price: {low: 5 USD/h, high: 2 USD/h, source: x}\n",
            "7:8: price: low must not exceed high: 5.0 > 2.0",
            id="a price range upside down",
        ),
        pytest.param(
            PROFILE
            + "kernels:\n- kernel: gemm\n  backend: vllm\n  dtype: bf16\n  floor: 4 us\n"
            + "  bandwidth: 0 TB/s\n  compute: 1 TFLOP/s\n  source: x\n",
            "12:14: kernels.0.bandwidth: input should be greater than 0 (0.0)",
            id="a kernel without bandwidth",
        ),
    ],
)
def test_hardware(tmp_path: Path, text: str, message: str) -> None:
    found = complaint(tmp_path, text, Hardware)
    assert found.split(" ({")[0] == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            MODEL.replace("heads: 4,", "heads: 0,"),
            "8:33: attention.0.gqa.heads: input should be greater than or equal to 1 (0)",
            id="a value inside a union",
        ),
        pytest.param(
            MODEL.replace("head_dim", "hed_dim"),
            "8:49: attention.0.gqa.hed_dim: unknown field 'hed_dim'; did you mean 'head_dim'?",
            id="a typo inside a union",
        ),
        pytest.param(
            MODEL.replace("width: 256", "width: wide"),
            "11:10: dense.0.width: input should be a valid integer ('wide')",
            id="a value inside a list",
        ),
        pytest.param(
            MODEL.replace("  width: 256\n", ""),
            "10:3: dense.0.width: field required",
            id="a field that an item lacks stands at the item",
        ),
    ],
)
def test_architecture(tmp_path: Path, text: str, message: str) -> None:
    found = complaint(tmp_path, text, Architecture)
    assert found == message


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (MODEL.replace("kv_heads: 2", "kv_heads: 3"), "kv_heads must divide heads: 4 % 3 != 0"),
        (MODEL.replace("layers: 2, heads", "layers: 3, heads"), "attention covers 3 layers of 2"),
        (MODEL.partition("dense:")[0], "a model needs moe or dense feed-forward layers"),
        (
            MODEL + "moe: {layers: 2, experts: 4, top_k: 8, expert_width: 8}\n",
            "top_k must not exceed experts: 8 > 4",
        ),
        (
            MODEL + "moe: {layers: 2, experts: 9, top_k: 2, expert_width: 8, groups: 2}\n",
            "groups must divide experts: 9 % 2 != 0",
        ),
        (MODEL.replace("64", "999999999999999"), "more than 1e+15 parameters: not a model"),
    ],
)
def test_rules_between_fields(tmp_path: Path, text: str, rule: str) -> None:
    assert rule in complaint(tmp_path, text, Architecture)


def load_study(folder: Path, text: str) -> Study:
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path, Study)


def test_words_and_numbers_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    # YAML 1.2.2, 10.3.2 (core schema): `no` is a word, 1:16 no sexagesimal number, 010 ten.
    study = load_study(
        tmp_path,
        "name: no\nhardware: h100\nspace: {top_k: 1:16}\n"
        "workload: {target_batch_size: 010}\ndeployment: {gpus: 08}\n",
    )
    assert study.name == "no"
    assert study.space.top_k == tuple(range(1, 17))
    assert study.workload.target_batch_size[0].batch_size == 10
    assert study.deployment.gpus == 8


def test_a_file_that_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_spec(tmp_path, Study)
    assert str(caught.value) == f"{tmp_path}: cannot be read (a folder, not a file)"
    absent = tmp_path / "none.yaml"
    with pytest.raises(UsageError) as caught:
        load_spec(absent, Study)
    assert str(caught.value) == f"{absent}: cannot be read (No such file or directory)"


def test_a_file_too_large_to_be_a_spec(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_text("# " + "x" * MAX_BYTES + "\n" + MINIMAL)
    with pytest.raises(UsageError, match="too large to be a spec"):
        load_spec(path, Study)


def test_a_file_nested_too_deeply(tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text("hardware: " + "[" * 5_000)
    with pytest.raises(UsageError, match="nested too deeply"):
        load_spec(path, Study)


@pytest.mark.parametrize(
    "raw", [b"\x00\x01", b"\xff\xfe\x00", b"hardware: \x80", b"a: \xed\xa0\x80"]
)
def test_a_file_that_is_no_text(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(raw)
    with pytest.raises(UsageError, match="not valid YAML"):
        load_spec(path, Study)


def test_values_are_shown_without_control_characters(tmp_path: Path) -> None:
    found = complaint(tmp_path, MINIMAL + 'routing: "a\\e[31mb"\n')
    assert "\x1b" not in found
    assert found.endswith("'a\\x1b[31mb' has characters that are not printable")


WORDS = [
    *["hardware", "workload", "!!int", "&a", "*a", "{", "}", "[", "]", ":", "-", "\n", "  ", "8"],
    *["010", "1e999", "~", "'", '"', "#", "|", ">", "? ", "%", "!!binary", "<<", "\t"],
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(text=st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=25).map(" ".join))
def test_no_text_is_a_bug(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load_spec(path, Study)
    except UsageError as error:
        assert str(error).startswith(str(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(data=st.data())
def test_no_slip_in_the_starter_is_a_bug(tmp_path: Path, data: st.DataObject) -> None:
    """One line of the starter study is deleted, doubled, indented or given another value."""
    lines = starter_text("study").splitlines()
    place = data.draw(st.integers(0, len(lines) - 1))
    line = lines[place]
    slip = data.draw(st.sampled_from(["", f"{line}\n{line}", f"  {line}", "value", "cut"]))
    if slip == "value":
        value = data.draw(st.sampled_from(["-1", "nan", "[]", "{}", "''", "true", "1e400", "x:y"]))
        slip = line.partition(":")[0] + ": " + value
    if slip == "cut":
        slip = line[: data.draw(st.integers(0, len(line)))]
    lines[place] = slip
    path = tmp_path / "slip.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        load_spec(path, Study)
    except UsageError as error:
        assert str(error).startswith(str(path))
