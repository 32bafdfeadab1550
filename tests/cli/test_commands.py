"""Every command, every flag, every format."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from codesign.architectures import list_architectures, load_architecture
from codesign.cli.options import FLAG_PATHS
from codesign.constraints import list_constraints, make_constraints
from codesign.hardware import list_hardware
from codesign.objectives import list_objectives
from codesign.prediction import FIGURES
from codesign.spec.hardware import Hardware
from codesign.spec.load import load_spec
from codesign.spec.schemas import SPECS, json_schema
from codesign.spec.study import Study
from codesign.starters import find_study, list_studies
from tests.cli.command_line import run, run_apart
from tests.test_study import FIGURE_KEYS

POINT = ["--experts", "128", "--top-k", "8", "--shared-experts", "0", "--draft-tokens", "0:2"]
QUESTION = ["optimize", "--hw", "h100", "--target-bs", "4", "--draws", "0"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def succeed(*arguments: str) -> str:
    """Run what must succeed in silence; return its output."""
    done = run(*arguments)
    assert (done.status, done.err) == (0, ""), done.err
    assert done.out.endswith("\n")
    return done.out


def answer(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(succeed(*QUESTION, *arguments, "--format", "json"))
    return found


# ---- optimize ----------------------------------------------------------------------------------


def test_the_main_job_from_an_empty_folder() -> None:
    out = succeed("optimize", "--target-bs", "32", "--hw", "h100.yaml")
    words = " ".join(out.split())
    for part in (
        "certificate: exact; all 22,680 designs evaluated",
        "reference",
        "best",
        "tokens/s",
        "partial load",
        "Constraints",
        "Assumptions",
        "AL(3) = 2.73",
        "36T tokens",
    ):
        assert part in words
    assert list(Path().iterdir()) == []  # product.md: without --out nothing is written


def test_the_same_seed_gives_the_same_bytes_in_any_process() -> None:
    arguments = [*QUESTION, "--experts", "64,128", "--trials", "20", "--format", "json"]
    first = run_apart(*arguments, PYTHONHASHSEED="1")
    second = run_apart(*arguments, PYTHONHASHSEED="2")
    assert (first.status, first.err) == (0, "")
    assert first.out == second.out
    assert json.loads(first.out)["certificate"]["trials"] == 20


FLAGS: list[tuple[str, str, Any]] = [
    # flag, as written, as the study has it
    ("target_bs", "8:0.3,32:0.7",
     [{"batch_size": 8, "share": 0.3}, {"batch_size": 32, "share": 0.7}]),
    ("context", "512", 512),
    ("hw", "h200", "h200"),
    ("arch", "mixtral-8x7b", "mixtral-8x7b"),
    ("gpus", "2", 2),
    ("tp", "2", 2),
    ("ep", "2", 2),
    ("dtype", "fp8", "fp8"),
    ("backend", "sglang", "sglang"),
    ("host_time", "0.2 ms", "0.2 ms"),
    ("sd_overhead", "1 ms", "1 ms"),
    ("price", "2.5 USD/h", "2.5 USD/h"),
    ("routing", "generic", "generic"),
    ("draft", "fraction:0.05,parallel", {"kind": "fraction", "fraction": 0.05, "parallel": True}),
    ("acceptance", "positions:.8,.6", {"form": "positions", "values": [0.8, 0.6]}),
    ("train_tokens", "2T", "2 T"),
    ("draft_tokens", "0,3", [0, 3]),
    ("experts", "64,128", [64, 128]),
    ("top_k", "6:8", [6, 7, 8]),
    ("shared_experts", "0:1", [0, 1]),
    ("expert_width", "iso_total", "iso_total"),
    ("engine", "exact", "exact"),
    ("trials", "7", 7),
    ("seed", "42", 42),
    ("batch", "5", 5),
    ("sampler", "random", "random"),
    ("draws", "2", 2),
]  # fmt: skip


@pytest.mark.parametrize(("flag", "written", "value"), FLAGS, ids=lambda item: str(item))
def test_a_flag_goes_where_it_belongs(flag: str, written: str, value: Any) -> None:
    lifted = ["--no-constraint", "sd_tpot", "--no-constraint", "memory", "--no-constraint",
              "divisibility", "--no-constraint", "expert_width"]  # fmt: skip
    found: Any = answer(*POINT, *lifted, f"--{flag.replace('_', '-')}", written)["study"]
    for part in FLAG_PATHS[flag]:
        found = found[part]
    assert found == value


def test_every_flag_is_tested() -> None:
    elsewhere = {"attention_dp", "widths", "calibration"}
    assert {flag for flag, _, _ in FLAGS} | elsewhere == set(FLAG_PATHS)


def test_attention_dp_and_widths() -> None:
    study = answer(*POINT, "--attention-dp", "--gpus", "2", "--expert-width", "search", "--widths",
                   "256,512", "--no-constraint", "divisibility")["study"]  # fmt: skip
    assert study["deployment"]["attention_dp"] is True
    assert study["space"]["widths"] == [256, 512]


def test_set_changes_the_reference() -> None:
    changes = ["--set", "hidden_size=4096", "--set", "experts=64", "--set", "tied_embeddings=true"]
    found = answer(*changes, "--fix", "experts,top_k,shared_experts", "--draft-tokens", "0:1",
                   "--gpus", "2")  # fmt: skip
    assert found["study"]["set"] == {"hidden_size": 4096, "experts": 64, "tied_embeddings": True}
    assert found["reference"]["design"]["experts"] == 64


def test_fix_pins_axes_to_the_reference() -> None:
    found = answer("--fix", "experts, top_k,shared_experts")
    assert found["certificate"]["designs"] == 9
    assert found["best"]["design"]["expert_width"] == 768


def test_objectives_repeat() -> None:
    found = answer(*POINT, "--objective", "sd_speedup", "--objective", "total_params:minimize")
    assert list(found["best"]["objectives"]) == ["sd_speedup", "total_params"]
    assert found["front_objectives"] == ["sd_speedup", "total_params"]


def test_constraints_add_change_and_go() -> None:
    bounds = ("tpot<=1 s", "total_params<=2x", "active_params >= 0.5x")
    flags = [word for bound in bounds for word in ("--constraint", bound)]
    found = answer(*POINT, *flags, "--no-constraint", "memory")
    standing = found["best"]["constraints"]
    assert "memory" not in standing
    assert standing["tpot"]["limit"] == 1
    assert standing["total_params"]["limit"] == 2 * 30_532_122_624
    assert found["study"]["constraints"]["active_params"] == {"at_least": "0.5x", "at_most": "1.1x"}


def test_flags_override_a_study() -> None:
    Path("mine.yaml").write_text(
        "hardware: h200\nworkload: {target_batch_size: 1, context: 512}\n"
        "constraints: {top_k: {minimum: 4}, tpot: {at_most: 1 s}}\n"
    )
    found = answer("--study", "mine.yaml", *POINT, "--constraint", "top_k>=6",
                   "--no-constraint", "tpot")  # fmt: skip
    assert found["study"]["hardware"] == "h100"
    assert found["study"]["workload"]["target_batch_size"][0]["batch_size"] == 4
    assert found["study"]["workload"]["context"] == 512
    assert found["best"]["constraints"]["top_k"]["limit"] == 4  # the file's guard stays
    assert found["best"]["constraints"]["top_k_limit"]["limit"] == 6
    assert "tpot" not in found["best"]["constraints"]


def test_extensions_are_found_beside_their_study(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "short.py").write_text(
        "from codesign.constraints import Constraint, at_most\n\n\n"
        "class Short(Constraint):\n    name = 'short'\n    unit = 'token'\n\n"
        "    def assess(self, prediction, reference):\n"
        "        return at_most(prediction.designs.draft_tokens, 1)\n"
    )
    (folder / "study.yaml").write_text(
        "hardware: h100\nworkload: {target_batch_size: 4}\n"
        "constraints: {short.py: true, sd_tpot: false}\n"
    )
    found = answer("--study", str(folder / "study.yaml"), *POINT)
    assert found["best"]["design"]["draft_tokens"] == 1
    assert found["best"]["constraints"]["short"]["slack"] == 0


def test_out_holds_what_gives_the_same_answer_again() -> None:
    first = succeed(*QUESTION, *POINT, "--out", "there", "--format", "json")
    files = {path.name for path in Path("there").iterdir()}
    assert {"study.yaml", "result.json"} <= files
    assert not any(name.startswith(".") for name in files)  # nothing half written
    assert Path("there/result.json").read_text() == first
    again = succeed("optimize", "--study", "there/study.yaml", "--format", "json")
    assert json.loads(again)["best"] == json.loads(first)["best"]
    assert json.loads(again)["study"] == json.loads(first)["study"]


def test_out_can_be_read_by_others() -> None:
    succeed(*QUESTION, *POINT, "--out", "there")
    probe = Path("there/probe")
    probe.touch()
    for name in ("study.yaml", "result.json"):
        assert Path("there", name).stat().st_mode == probe.stat().st_mode


def test_csv_has_a_line_per_design() -> None:
    out = succeed(*QUESTION, *POINT, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["role"] for row in rows[:3]] == ["best", "reference", "throughput_best"]
    assert all(row["role"] == "front" for row in rows[3:])
    assert rows[0]["design.experts"] == "128"
    assert float(rows[0]["objectives.sd_speedup"]) > 1
    assert float(rows[0]["constraints.memory.slack"]) > 0


# ---- predict -----------------------------------------------------------------------------------

PREDICT = ["predict", "--hw", "h100", "--target-bs", "1,2,8", "--draft-tokens", "0,3"]


def predicted(*arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(succeed(*PREDICT, *arguments, "--format", "json"))
    return rows


def test_predict_gives_a_row_per_batch_size_and_draft_length() -> None:
    rows = predicted()
    cells = [(row["batch_size"], row["draft_tokens"]) for row in rows]
    assert cells == [(1, 0), (1, 3), (2, 0), (2, 3), (8, 0), (8, 3)]
    for row in rows:
        assert set(row) >= FIGURE_KEYS  # product.md
        assert row["tokens"] == row["batch_size"] * (row["draft_tokens"] + 1)
        assert set(row["components"]) == {"decode", "verify"}
        decode = sum(row["components"]["decode"].values())
        assert decode == pytest.approx(row["step_time_decode_s"], rel=1e-9)
        assert (row["draft_tokens"] == 0) == (row["sd_speedup"] == 1)


def test_predict_of_another_architecture() -> None:
    uniform = ["--routing", "uniform"]
    published = predicted(*uniform)[4]["unique_experts_uniform"]
    assert published == pytest.approx(51.6, abs=0.05)  # Cohere study, 128/8, B = 8
    changed = predicted(*uniform, "--set", "experts=256", "--set", "top_k=8")[4]
    by_hand = 256 * (1 - (1 - 8 / 256) ** 8)
    assert changed["unique_experts_uniform"] == pytest.approx(by_hand)


def test_predict_writes_the_same_numbers_as_csv() -> None:
    rows = predicted()
    table = list(csv.DictReader(io.StringIO(succeed(*PREDICT, "--format", "csv"))))
    assert len(table) == len(rows)
    for written, row in zip(table, rows, strict=True):
        assert float(written["sd_speedup"]) == row["sd_speedup"]
        assert written["regime"] == row["regime"]
        verify = row["components"]["verify"]["routed_experts"]
        assert float(written["components.verify.routed_experts"]) == verify


def test_predict_as_a_table() -> None:
    words = succeed(*PREDICT)
    assert "Components" in words and "router" in words
    assert "Assumptions" in words
    assert "AL(3) = 2.73" in words
    assert all(len(line) <= 200 for line in words.splitlines())


def test_predict_says_never_where_sd_cannot_pay() -> None:
    # Case A21: a break-even acceptance above 1 is "never".
    lines = succeed(*PREDICT[:4], "1", "--draft-tokens", "1", "--draft", "fraction:3").splitlines()
    assert any("never" in line for line in lines)


def test_predict_without_a_price_has_none() -> None:
    rows = json.loads(
        succeed("predict", "--hw", "tpu-v6e", "--target-bs", "1", "--draft-tokens", "3", "--format",
                "json")
    )  # fmt: skip
    assert rows[0]["cost_per_million_tokens"] is None


def test_predict_takes_a_study() -> None:
    rows = json.loads(succeed("predict", "--study", "batch-1", "--format", "json"))
    assert {row["batch_size"] for row in rows} == {1}
    assert [row["draft_tokens"] for row in rows] == list(range(9))


# ---- list, show, schema, init ------------------------------------------------------------------

CATALOGUES: dict[str, Callable[[], list[str]]] = {
    "hardware": list_hardware,
    "architectures": list_architectures,
    "objectives": list_objectives,
    "constraints": list_constraints,
    "studies": list_studies,
    "figures": lambda: list(FIGURES),
}


@pytest.mark.parametrize("what", CATALOGUES)
def test_list(what: str) -> None:
    expected = CATALOGUES[what]()
    rows = json.loads(succeed("list", what, "--format", "json"))
    limits = {"total_params", "active_params", "sd_tpot"} if what == "constraints" else set()
    assert {row["name"] for row in rows} >= limits  # which need no file
    rows = [row for row in rows if row["name"] not in limits]
    assert len(rows) == len(expected)
    if what != "architectures":  # listed by their own names
        assert [row["name"] for row in rows] == expected
    table = list(csv.DictReader(io.StringIO(succeed("list", what, "--format", "csv"))))
    table = [row for row in table if row["name"] not in limits]
    assert [row["name"] for row in table] == [row["name"] for row in rows]
    text = succeed("list", what)
    assert all(row["name"] in text for row in rows)


SHOWN = [
    ("hardware", "h100"),
    ("architecture", "qwen3-30b-a3b"),
    ("objective", "sd_speedup"),
    ("constraint", "quality"),
    ("study", "default"),
]


@pytest.mark.parametrize(("what", "name"), SHOWN)
def test_show(what: str, name: str) -> None:
    data = json.loads(succeed("show", what, name, "--format", "json"))
    text = succeed("show", what, name)
    if what == "architecture":  # counts are comments: the text is a file to start from
        assert all(f"# {key}:" in text for key in data if key != "facts")
        data = data["facts"]
    assert yaml.safe_load(text).keys() == data.keys()
    [row] = csv.DictReader(io.StringIO(succeed("show", what, name, "--format", "csv")))
    assert row


def test_a_shown_architecture_is_one_to_start_from() -> None:
    Path("mine.yaml").write_text(succeed("show", "architecture", "deepseek-v2-lite"))
    shown, own = (load_architecture(each) for each in ("mine.yaml", "deepseek-v2-lite"))
    assert shown == own


def test_predict_says_what_no_server_could_run() -> None:
    words = succeed("predict", "--hw", "h100", "--target-bs", "1,4096", "--gpus", "3",
                    "--draft-tokens", "3")  # fmt: skip
    assert "DOES NOT FIT at batch size 4,096: up to " in words
    assert "CANNOT BE CUT EVENLY: 32 attention heads over tp 3" in words
    fine = succeed("predict", "--hw", "h100", "--target-bs", "1", "--draft-tokens", "3")
    assert "DOES NOT" not in fine and "CANNOT" not in fine


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_work() -> None:
    done = run(*PREDICT, "--plot", "figure.txt")
    assert (done.status, done.out) == (2, "")
    assert "--plot: a picture ends in .png, .svg, .pdf, not '.txt'" in done.err


def test_show_architecture_has_the_stable_keys() -> None:
    # product.md; counts of Qwen3-30B-A3B from param_counts.csv.
    data = json.loads(succeed("show", "architecture", "qwen3-30b-a3b", "--format", "json"))
    expected = {
        "total_params": 30_532_122_624, "active_params": 3_353_032_704,
        "routed_params": 28_991_029_248, "shared_params": 0, "attention_params": 905_981_952,
        "experts": 128, "top_k": 8, "shared_experts": 0, "moe_layers": 48, "layers": 48,
    }  # fmt: skip
    assert {key: data[key] for key in expected} == expected


def test_show_hardware_prints_a_profile_that_can_be_used() -> None:
    Path("mine.yaml").write_text(succeed("show", "hardware", "h100"))
    assert load_spec(Path("mine.yaml"), Hardware).name == "h100-sxm"


def test_show_constraint_explains_its_options() -> None:
    data = json.loads(succeed("show", "constraint", "top_k", "--format", "json"))
    assert data["options"] == {"minimum": 4}
    assert data["unit"] == "expert"
    assert "Parameters" in data["meaning"]


@pytest.mark.parametrize("name", SPECS)
def test_schema(name: str) -> None:
    assert json.loads(succeed("schema", name)) == json_schema(name)


def test_init_writes_a_study_equal_to_the_defaults() -> None:
    assert succeed("init") == "wrote study.yaml\n"
    starter = load_spec(Path("study.yaml"), Study)
    minimal = Study.from_data({"hardware": "h100", "workload": {"target_batch_size": 32}})
    own = {"name", "constraints"}
    for field in set(Study.model_fields) - own:
        assert getattr(starter, field) == getattr(minimal, field), field
    written, default = (
        {each.name: (type(each), vars(each)) for each in make_constraints(study.constraints)}
        for study in (starter, minimal)
    )
    assert written == default


def test_init_writes_a_profile_that_answers() -> None:
    assert succeed("init", "hardware", "gpu.yaml") == "wrote gpu.yaml\n"
    found = answer("--hw", "gpu.yaml", *POINT)
    assert found["study"]["hardware"] == str(Path("gpu.yaml").absolute())
    assert any("datasheet-only" in line for line in found["assumptions"])


def test_init_spares_what_is_there() -> None:
    Path("study.yaml").write_text("mine")
    done = run("init")
    assert (done.status, done.err) == (2, "error: study.yaml exists; --force overwrites it\n")
    assert Path("study.yaml").read_text() == "mine"
    assert succeed("init", "--force") == "wrote study.yaml\n"
    assert Path("study.yaml").read_text().startswith("# Which experts")


@pytest.mark.parametrize("name", list_studies())
def test_bundled_studies_load(name: str) -> None:
    study = load_spec(find_study(name), Study)
    make_constraints(study.constraints, find_study(name).parent)


@pytest.mark.parametrize("command", ["optimize", "predict", "list", "show", "schema", "init"])
def test_every_command_explains_itself(command: str) -> None:
    assert f"Usage: codesign {command}" in succeed(command, "--help")


def test_version() -> None:
    assert succeed("--version").startswith("codesign 0.")


@pytest.mark.parametrize(
    "arguments",
    [
        # Issue 2, "It must show".
        ["--arch", "deepseek-v3", "--hw", "h200.yaml", "--gpus", "8", "--tp", "8", "--ep", "8"],
        ["--arch", "mixtral-8x7b"],
        ["--arch", "gpt-oss-20b"],
        ["--target-bs", "1"],
        ["--target-bs", "256"],
        ["--target-bs", "8:0.3,32:0.7"],
        ["--objective", "sd_speedup", "--objective", "total_params"],
        ["--objective", "sd_speedup", "--objective", "loss_difference"],
    ],
)
def test_questions_of_the_issue(arguments: list[str]) -> None:
    found = answer("--engine", "exact", *arguments)
    assert found["certificate"]["kind"] == "exact"
    assert found["certificate"]["designs"] >= 22_680
    assert found["front"]
    assert all(standing["slack"] >= 0 for standing in found["best"]["constraints"].values())
