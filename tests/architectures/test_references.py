"""Bundled references: their counts as published, their facts with a source."""

import pytest

from codesign.architectures import list_architectures, load_architecture
from codesign.architectures.counting import count_parameters
from codesign.architectures.lookup import REFERENCES
from codesign.spec.architecture import Architecture
from codesign.spec.load import load_spec

# total, active (both embeddings included), routed, shared, attention: counted from the model
# classes of transformers 5.24 on the meta device
FROM_CLASSES = {
    "mixtral-8x7b": (46702792704, 12879925248, 45097156608, 0, 1342177280),
    "mixtral-8x22b": (140620634112, 39152031744, 135291469824, 0, 4932501504),
    "qwen3-30b-a3b": (30532122624, 3353032704, 28991029248, 0, 905981952),
    "qwen3-235b-a22b": (235093634560, 22190763520, 227096395776, 0, 6702521856),
    "qwen3.5-35b-a3b": (34660610688, 3454988928, 32212254720, 125829120, 1284188800),
    "qwen3.5-397b-a17b": (396346350336, 17349040896, 386547056640, 754974720, 6883511040),
    "qwen3-next-80b-a3b": (79674391296, 3874929408, 77309411328, 150994944, 1541026560),
    "qwen1.5-moe-a2.7b": (14315784192, 2689173504, 12457082880, 830472192, 402800640),
    "deepseek-v2-lite": (15706484224, 2661150208, 14394851328, 449839104, 371589120),
    "deepseek-v3": (671026404352, 37552282624, 653908770816, 2554331136, 11413422080),
    "deepseek-r1": (671026404352, 37552282624, 653908770816, 2554331136, 11413422080),
    "deepseek-v3.2": (671877929216, 38403807488, 653908770816, 2554331136, 12264946944),
    "kimi-k2": (1026408209408, 32861477888, 1014686023680, 2642411520, 6168444928),
    "kimi-k2.5": (1026408209408, 32861477888, 1014686023680, 2642411520, 6168444928),
    "gpt-oss-20b": (20914757184, 4187440704, 19116933120, 0, 637203456),
    "gpt-oss-120b": (116829156672, 5711982912, 114701598720, 0, 955805184),
    "llama-4-scout": (107769861120, 17172894720, 96636764160, 6039797760, 3019898880),
    "minimax-m2.5": (228689748992, 11030537216, 224680476672, 0, 2730936320),
    "glm-4.5-air": (106852245504, 13424123904, 99656663040, 778567680, 5017047040),
    "glm-5": (743911199232, 41784709632, 724775731200, 2831155200, 13602541056),
    "nemotron-3-nano-30b-a3b": (31577937344, 3580073408, 29374808064, 458981376, 1031448896),
    "north-mini-code": (30484303872, 3305213952, 28991029248, 0, 924844032),
    "command-a-plus": (218254938112, 24981409792, 206158430208, 6442450944, 4563402752),
    "phi-3.5-moe": (41872793600, 6640640000, 40265318400, 0, 1342177280),
    "hy3-preview": (295033528320, 20675715072, 286286413824, 1491075072, 6039818240),
}

# totals that publishers or model hubs state to the parameter, or to three digits
PUBLISHED = {
    "dbrx": (131596523520, 0),  # model hub
    "olmoe-1b-7b": (6919161856, 0),  # model hub
    "deepseek-moe-16b": (16375728128, 0),  # model hub
    "qwen3-coder-480b-a35b": (480154875392, 0),  # model hub
    "hunyuan-a13b": (80393183232, 0),  # cases B10
    "nemotron-3-super-120b-a12b": (120668687360, 0),  # cases B11
    "kimi-linear-48b-a3b": (49122681728 - 26 * 256, 0),  # model hub, less its router buffers
    "ling-mini-2.0": (16255643392 - 19 * 256, 0),  # model hub, less its router buffers
    "dots.llm1": (142.8e9, 1e-3),  # arXiv 2506.05767
    "qwen2-57b-a14b": (57.4e9, 1e-3),  # arXiv 2407.10671
    "gemma-4-26b-a4b": (25.2e9, 2e-3),  # model card
    "kimi-k3": (2.8e12, 1e-2),  # model card
    "mimo-v2-flash": (309e9, 1e-3),  # model card
    "llama-3.1-405b": (405e9, 3e-3),  # arXiv 2407.21783
    "llama-3.3-nemotron-super-49b": (49.9e9, 1e-3),  # model hub
}


@pytest.mark.parametrize("name", FROM_CLASSES)
def test_counts_of_model_classes(name: str) -> None:
    """Total, active, routed, shared and attention to the parameter."""
    counts = count_parameters(load_architecture(name))
    found = (counts.total, counts.active, counts.routed, counts.shared, counts.attention)
    assert found == FROM_CLASSES[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_totals(name: str) -> None:
    """What publishers say."""
    total, tolerance = PUBLISHED[name]
    counted = count_parameters(load_architecture(name)).total
    assert counted == pytest.approx(total, rel=tolerance, abs=0)


def test_there_are_enough() -> None:
    """At least 25 published models, sparse ones and dense controls."""
    names = list_architectures()
    assert len(names) >= 25
    assert {"llama-3.1-8b", "qwen3-8b", "qwen3-30b-a3b", "deepseek-v3"} <= set(names)


@pytest.mark.parametrize("name", list_architectures())
def test_every_reference_is_complete(name: str) -> None:
    """It loads, its file says where its facts are from, and its name is its file's."""
    architecture = load_spec(REFERENCES / f"{name}.yaml", Architecture)
    assert len(architecture.source) > 20
    assert architecture.name.lower() == name
    assert load_architecture(name.upper()) == architecture
    if architecture.moe is not None:
        assert count_parameters(architecture).active < count_parameters(architecture).total


def test_routing_and_training_as_published() -> None:
    """r_w(4) of arXiv 2505.16056 and traces; training tokens of the reports."""
    routing = {
        name: load_architecture(name).routing
        for name in ("mixtral-8x7b", "olmoe-1b-7b", "gpt-oss-20b", "qwen3-30b-a3b")
    }
    assert {
        name: locality and locality.window_correlation for name, locality in routing.items()
    } == {
        "mixtral-8x7b": 0.20,
        "olmoe-1b-7b": 0.54,
        "gpt-oss-20b": 0.585,
        "qwen3-30b-a3b": 0.71,
    }
    training = load_architecture("qwen3-30b-a3b").training
    assert training is not None
    assert training.tokens == 36e12
    assert load_architecture("qwen3-235b-a22b").routing is None
