"""Names and paths: what is found, and what is said when nothing is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from codesign.architectures import load_architecture
from codesign.errors import DataError, UsageError
from tests.architectures.random_configs import random_config

YAML = """\
name: mine
family: llama
source: by hand
hidden_size: 64
layers: 2
vocab_size: 100
attention:
- {kind: gqa, layers: 2, heads: 4, kv_heads: 2, head_dim: 16}
dense:
- {layers: 2, width: 128}
"""


@pytest.mark.parametrize(
    "name", ["qwen3-30b-a3b", "QWEN3-30B-A3B", "Qwen/Qwen3-30B-A3B", "qwen3-30b"]
)
def test_names(name: str) -> None:
    """Any case, with its owner, or a beginning that is enough."""
    assert load_architecture(name).name == "Qwen3-30B-A3B"


def test_a_full_name_is_not_ambiguous() -> None:
    """kimi-k2 begins kimi-k2.5 too."""
    assert load_architecture("kimi-k2").name == "Kimi-K2"


def test_ambiguous_name() -> None:
    """All that could be meant are listed."""
    with pytest.raises(UsageError, match="ambiguous: mixtral-8x22b, mixtral-8x7b"):
        load_architecture("mixtral")


def test_unknown_name() -> None:
    """The nearest name, and where the others are listed."""
    with pytest.raises(UsageError) as error:
        load_architecture("deepsek-v3")
    assert str(error.value) == (
        "unknown architecture 'deepsek-v3'; did you mean 'deepseek-v3'?: neither a path nor a "
        "bundled name; see `codesign list architectures`"
    )


@pytest.mark.parametrize("name", ["", "nothing.json", "nothing.yaml"])
def test_nothing_there(name: str, tmp_path: Path) -> None:
    """A path that looks like a file but is none; an empty name."""
    with pytest.raises(UsageError):
        load_architecture(tmp_path / name if name else "")


def test_a_folder_and_its_config(tmp_path: Path) -> None:
    """A folder stands for its config.json and gives the model its name."""
    folder = tmp_path / "my-model"
    folder.mkdir()
    with pytest.raises(UsageError, match=r"a folder without a config\.json"):
        load_architecture(folder)
    (folder / "config.json").write_text(json.dumps(random_config("qwen3_moe", 1)))
    architecture = load_architecture(folder)
    assert architecture.name == "my-model"
    assert architecture == load_architecture(str(folder / "config.json"))


def test_our_own_yaml(tmp_path: Path) -> None:
    """A YAML file of this project; a wrong one names line and column."""
    path = tmp_path / "mine.yaml"
    path.write_text(YAML)
    assert load_architecture(path).hidden_size == 64
    path.write_text(YAML.replace("layers: 2\nvocab", "layrs: 2\nvocab"))
    with pytest.raises(UsageError, match=r"mine\.yaml:5:1: layrs: unknown field"):
        load_architecture(path)


def test_more_experts_per_token_than_experts_in_yaml(tmp_path: Path) -> None:
    """k > N is refused in our own files too."""
    path = tmp_path / "mine.yaml"
    moe = "moe: {layers: 2, experts: 4, top_k: 5, expert_width: 8}\n"
    path.write_text(YAML.split("dense:")[0] + moe)
    with pytest.raises(UsageError, match="top_k must not exceed experts: 5 > 4"):
        load_architecture(path)


def test_unknown_model_type(tmp_path: Path) -> None:
    """What is recognised is listed, with the nearest name."""
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "qwen3_moee"}')
    with pytest.raises(DataError) as error:
        load_architecture(path)
    first, instead, second, *_ = str(error.value).splitlines()
    assert "codesign show architecture" in instead
    assert first.endswith("model_type 'qwen3_moee' is not recognised; did you mean 'qwen3_moe'?")
    assert second.startswith("recognised: afmoe, aria, ")
    assert error.value.exit_status == 4


def test_loading_is_light() -> None:
    """Finding an architecture needs no numerics."""
    code = (
        "import sys; from codesign.architectures import load_architecture; "
        "load_architecture('deepseek-v3'); "
        "print([name for name in ('numpy', 'scipy', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
