"""Exit statuses, and the one message that goes with each."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

import codesign.study
from tests.cli.command_line import Done, run

QUESTION = ["optimize", "--hw", "h100", "--target-bs", "32", "--draws", "0"]
SMALL = [*QUESTION, "--fix", "experts,top_k,shared_experts", "--draft-tokens", "0:2"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(status: int, *arguments: str) -> str:
    """Run what must fail with one message and no traceback; return the message."""
    done = run(*arguments)
    assert (done.status, done.out) == (status, ""), done.err
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err
    return done.err.removeprefix("error: ").rstrip("\n")


# ---- 2: usage, study or spec -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--hw", "h10"],
            "unknown hardware 'h10': no such file and no bundled profile; did you mean 'h100'?; "
            "see 'codesign list hardware'",
        ),
        (["--arch", "qwen3-30b-a3bb"], "unknown architecture 'qwen3-30b-a3bb'; did you mean"),
        (["--arch", "none/config.json"], "none/config.json: no such file"),
        (["--hw", "none/h100.yaml"], "none/h100.yaml: no such file"),
        (["--study", "defalt"], "unknown study 'defalt': no such file and no bundled study; did"),
        (["--arch", "llama-3.1-8b"], "Llama-3.1-8B is a dense model: there are no experts"),
        (
            ["--experts", "2,4", "--top-k", "8:16"],
            "space: no design is left, top_k exceeds experts everywhere (top_k >= 8, experts <= 4)",
        ),
        (["--experts", "128:8:8"], "--experts: the range '128:8:8' is empty: 8 < 128 ('128:8:8')"),
        (["--experts", "0,8"], "space: experts must be at least 1 (0)"),
        (["--experts", ""], "--experts: write whole numbers, a list or lo:hi:step, not ''"),
        (["--top-k", "-1"], "--top-k: write whole numbers, a list or lo:hi:step, not '-1'"),
        (["--experts", str(10**30)], "--experts: must be at most 100,000,000"),
        (["--expert-width", "search"], "space: expert_width search needs widths, such as"),
        (["--fix", "expert"], "space.fix.0: input should be 'experts', 'top_k' or"),
        (["--target-bs", "0"], "--target-bs.0.batch_size: input should be greater than or equal"),
        (["--target-bs", "-3"], "--target-bs: write a batch size, or a mix such as 8:0.3,32:0.7"),
        (["--target-bs", "8:0.3,32:0.6"], "workload: the shares of the mix must add up to 1, not"),
        (["--target-bs", str(10**400)], "--target-bs.0.batch_size: input should be less than or"),
        (["--context", "-1"], "--context: input should be greater than or equal to 0 (-1)"),
        (["--gpus", "0"], "--gpus: input should be greater than or equal to 1 (0)"),
        (["--tp", "3", "--gpus", "8"], "tensor_parallel 3 does not divide 8 gpus; set --gpus"),
        (["--ep", "5", "--gpus", "8"], "expert_parallel 5 does not divide 8 gpus; set --gpus"),
        (["--attention-dp", "--tp", "2"], "deployment: attention_dp and tensor_parallel > 1"),
        (["--host-time", "3"], "--host-time: a time needs a unit (s, ms, us, µs, ...), for"),
        (["--host-time=-3 ms"], "--host-time: must be finite and not negative ('-3 ms')"),
        (["--sd-overhead", "1 GB"], "--sd-overhead: unknown unit 'GB' for a time; use one of s,"),
        (["--price", "2"], "--price: a price needs a unit (USD/h), for example '2 USD/h' ('2')"),
        (["--train-tokens", "0"], "--train-tokens: input should be greater than 0 ("),
        (["--dtype", "fp7"], "--dtype: input should be 'fp32', 'bf16'"),
        (["--backend", "llama.cpp"], "--backend: input should be 'vllm', 'sglang' or 'trtllm'"),
        (["--routing", "none"], "--routing: input should be 'own', 'generic', 'independent'"),
        (["--draft", "egle"], "--draft: a draft is eagle, mtp, fraction, model, each with"),
        (["--draft", "model:nope"], "unknown architecture 'nope'"),
        (["--acceptance", "constant:1.5"], "--acceptance.values.0: input should be less than or"),
        (["--engine", "magic"], "--engine: input should be 'auto', 'exact'"),
        (["--trials", "0"], "--trials: input should be greater than or equal to 1 (0)"),
        (["--seed", "-1"], "--seed: input should be greater than or equal to 0 (-1)"),
        (["--seed", str(2**32)], "--seed: input should be less than 4294967296"),
        (["--objective", "sd_speed"], "unknown objective 'sd_speed'; did you mean 'sd_speedup'?"),
        (
            ["--objective", "sd_speedup", "--objective", "sd_speedup"],
            "two objectives are named 'sd_speedup'; one of them must go",
        ),
        (["--objective", "experts"], "objective experts: say in which direction, experts:minimize"),
        (["--no-constraint", "qualty"], "--no-constraint: 'qualty' is not among the defaults; did"),
        (["--constraint", "tpot=1x"], "--constraint: a constraint is FIGURE<=VALUE or"),
        (["--constraint", "totl_params<=1x"], "unknown figure 'totl_params'; did you mean"),
        (["--constraint", "sd_tpot<=10"], "constraint sd_tpot: a time needs a unit"),
        (["--constraint", "total_params<=-3B"], "constraint total_params: must be finite and not"),
        (["--constraint", "sd_speedup>=inf"], "constraint sd_speedup: must be finite ('inf')"),
        (["--set", "hidden_sze=3"], "set: hidden_sze: unknown field 'hidden_sze'; did you mean"),
        (["--set", "top_k=300"], "set: moe: top_k must not exceed experts: 300 > 128"),
        (["--set", "top_k"], "--set takes NAME=VALUE, not 'top_k'"),
        (["--hw", "tpu-v6e", "--objective", "cost"], "tpu-v6e has no price; give one with --price"),
        (["--context", "10000000"], "Qwen3-30B-A3B does not fit 1024 GPUs of h100-sxm at batch"),
        (["--out", "/proc/nowhere"], "/proc/nowhere: cannot be written ("),
    ],
)  # fmt: skip
def test_what_optimize_refuses(arguments: list[str], message: str) -> None:
    base = SMALL if "--out" in arguments else QUESTION
    if "--out" in arguments:
        assert run(*base, *arguments).status == 2
        return
    assert refused(2, *base, *arguments).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["optimize", "--target-bs", "32"],
            "say which hardware, such as --hw h100 (see 'codesign list hardware')",
        ),
        (
            ["optimize", "--hw", "h100"],
            "say the batch size to design for, such as --target-bs 32",
        ),
        (["predict", "--target-bs", "32"], "say which hardware, such as --hw h100"),
        (["predict", "--hw", "h100"], "say the batch size to design for"),
        (
            ["predict", "--hw", "h100", "--target-bs", "1,x"],
            "--target-bs: write whole numbers, a list or lo:hi:step, not 'x'",
        ),
        (["predict", "--hw", "h100", "--target-bs", "0,2"], "--target-bs: must be at least 1 (0)"),
        (
            ["predict", "--hw", "h100", "--target-bs", "1", "--draft-tokens", "3:1"],
            "--draft-tokens: the range '3:1' is empty: 1 < 3",
        ),
        (["schema", "studdy"], "unknown schema 'studdy'; did you mean 'study'?; known: study, "),
        (["show", "hardware", "h10"], "unknown hardware 'h10'"),
        (["show", "architecture", "nope"], "unknown architecture 'nope'"),
        (["show", "objective", "sd_speed"], "unknown objective 'sd_speed'; did you mean"),
        (["show", "constraint", "memry"], "unknown constraint 'memry'; did you mean 'memory'?"),
        (["show", "study", "defalt"], "unknown study 'defalt'"),
        (["init", "study", "/proc/nowhere/s.yaml"], "/proc/nowhere/s.yaml: cannot be written ("),
    ],
)
def test_what_other_commands_refuse(arguments: list[str], message: str) -> None:
    assert refused(2, *arguments).startswith(message)


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["list"],
        ["list", "hardwar"],
        ["show", "hardware"],
        ["optimize", "--gpus", "two"],
        ["optimize", "--nonsense"],
        ["optimize", "--format", "xml"],
        ["predict", "--experts", "8"],
        [],
    ],
)
def test_what_the_parser_refuses(arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert "Usage: codesign" in done.err
    assert "Traceback" not in done.err


def test_a_slip_in_a_study_has_its_line_and_column() -> None:
    Path("mine.yaml").write_text("hardware: h100\nworkload:\n  target_batchsize: 32\n")
    assert refused(2, "optimize", "--study", "mine.yaml").split("\n") == [
        "mine.yaml:3:3: workload.target_batchsize: unknown field 'target_batchsize'; did you mean "
        "'target_batch_size'?"
    ]


def test_a_slip_in_a_profile_has_its_line_and_column() -> None:
    assert run("init", "hardware", "gpu.yaml").status == 0
    text = Path("gpu.yaml").read_text()
    Path("gpu.yaml").write_text(text.replace("3.35 TB/s", "3.35"))
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "memory_bandwidth" in row)
    column = text.splitlines()[line - 1].index("3.35") + 1
    assert refused(2, *QUESTION, "--hw", "gpu.yaml") == (
        f"gpu.yaml:{line}:{column}: memory_bandwidth.value: a bandwidth needs a unit (B/s, kB/s, "
        "MB/s, GB/s, ...), for example '3.35 GB/s' (3.35)"
    )


# ---- 3: nothing feasible -----------------------------------------------------------------------


def test_nothing_feasible() -> None:
    lines = refused(3, *SMALL, "--constraint", "sd_tokens_per_s>=1e9").split("\n")
    assert lines[0] == "no design is feasible: 3 designs, none meets every constraint"
    assert "  sd_tokens_per_s excludes 3" in lines
    assert "relax: without sd_tokens_per_s alone a design is feasible" in lines


# ---- 4: data that is broken --------------------------------------------------------------------

MOE = {
    "model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48, "vocab_size": 151936,
    "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
    "num_experts_per_tok": 8, "moe_intermediate_size": 768, "intermediate_size": 6144,
    "mlp_only_layers": [], "decoder_sparse_step": 1, "tie_word_embeddings": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (json.dumps(MOE).encode()[:60], "config.json: not valid JSON ("),
        (b"", "config.json: not valid JSON ("),
        (b"hello", "config.json: not valid JSON ("),
        (b"\x00\xff\xfe", "config.json: not valid JSON ("),
        (b"[1]", "config.json: must hold one JSON object ([1])"),
        (b"[" * 100_000, "config.json: "),
        (
            b'{"x": "' + b"a" * 17 * 2**20 + b'"}',
            "config.json: cannot be read (too large to be a config.json: 17,825,801 > 16,777,216",
        ),
        (b"{}", "config.json: "),
        (json.dumps(MOE | {"model_type": "nope"}).encode(), "config.json: "),
        (json.dumps(MOE | {"num_experts": -1}).encode(), "config.json: field num_experts must be"),
        (json.dumps(MOE | {"num_experts": "many"}).encode(), "config.json: field num_experts must"),
        (json.dumps(MOE | {"num_experts": 10**30}).encode(), "config.json: field num_experts must"),
    ],
)
def test_a_config_that_is_broken(raw: bytes, message: str) -> None:
    Path("config.json").write_bytes(raw)
    assert refused(4, *QUESTION, "--arch", "config.json").startswith(message)


def test_a_config_that_is_whole() -> None:
    Path("config.json").write_text(json.dumps(MOE))
    done = run(*SMALL, "--arch", "config.json", "--format", "json")
    assert done.status == 0
    best = json.loads(done.out)["reference"]["prediction"]
    assert best["total_params"] == 30_532_122_624  # param_counts.csv, Qwen3-30B-A3B


def test_an_unknown_family_is_told_which_are_known() -> None:
    Path("config.json").write_text(json.dumps(MOE | {"model_type": "gpt2"}))
    message = refused(4, *QUESTION, "--arch", "config.json")
    assert "gpt2" in message
    assert "mixtral" in message and "deepseek_v3" in message


def test_a_dense_config_is_no_search_but_a_prediction() -> None:
    dense = {key: value for key, value in MOE.items() if "expert" not in key and "moe" not in key}
    dense |= {"model_type": "qwen3"}
    Path("dense.json").write_text(json.dumps(dense))
    message = refused(2, *QUESTION, "--arch", "dense.json")
    assert "is a dense model: there are no experts to search" in message
    assert run("predict", "--hw", "h100", "--target-bs", "1", "--arch", "dense.json").status == 0


# ---- 70 and 130 --------------------------------------------------------------------------------


@pytest.fixture
def _failing(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise request.param

    monkeypatch.setattr(codesign.study, "optimize", fail)


@pytest.mark.parametrize("_failing", [RuntimeError("a slip of ours")], indirect=True)
@pytest.mark.usefixtures("_failing")
def test_a_bug_is_a_traceback_and_where_to_report_it() -> None:
    done = run(*SMALL)
    assert (done.status, done.out) == (70, "")
    assert "Traceback (most recent call last)" in done.err
    assert "RuntimeError: a slip of ours" in done.err
    assert "this is a bug in codesign: please report it" in done.err


@pytest.mark.parametrize("_failing", [KeyboardInterrupt()], indirect=True)
@pytest.mark.usefixtures("_failing")
def test_interrupted() -> None:
    done = run(*SMALL)
    assert (done.status, done.out) == (130, "")
    assert done.err.startswith("interrupted")
    assert "Traceback" not in done.err


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[str]]:
    """A search that takes long enough to be interrupted."""
    command = "from codesign.cli import main; print('ready', flush=True); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", command, *QUESTION, "--experts", "8:4096:1", "--top-k", "1:64",
         "--engine", "exact"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        yield process
        process.kill()


def test_ctrl_c(busy: subprocess.Popen[str]) -> None:
    assert busy.stdout is not None
    busy.stdout.readline()
    with pytest.raises(subprocess.TimeoutExpired):  # it searches for minutes
        busy.wait(timeout=2)
    busy.send_signal(signal.SIGINT)
    _, err = busy.communicate(timeout=60)
    assert busy.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err


def test_a_reader_that_leaves_is_no_failure() -> None:
    code = "from codesign.cli import main; main()"
    for arguments in (["list", "figures", "--format", "json"], ["schema", "study"]):
        piped = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert piped.stdout is not None and piped.stderr is not None
        piped.stdout.close()
        assert (piped.wait(timeout=60), piped.stderr.read()) == (0, "")
        piped.stderr.close()


def test_help_is_no_failure() -> None:
    done: Done = run("optimize", "--help")
    assert (done.status, done.err) == (0, "")
    assert "--target-bs" in done.out
