"""The five laws of pretraining loss, from their papers: 30-digit scalars."""

from typing import Any

from tests.twin.router import Exactly

Sizes = dict[str, Any]


def _number(text: str) -> Any:
    return Exactly.mpf(text)


def _saturated(expansion: Any, start: str, most: str) -> Any:
    offset = 1 / (1 / _number(start) - 1 / _number(most))
    return 1 / (1 / (expansion - 1 + offset) + 1 / _number(most))


def _expansion(sizes: Sizes) -> Any:
    always = sizes["shared"] + sizes["dense"]
    return (sizes["experts"] + always) / (sizes["top_k"] + always)


def joint(active: Any, tokens: Any, expansion: Any) -> Any:
    """Ludziejewski et al. 2025, equation 6."""
    width = _saturated(expansion, "2.0732", "290.4521")
    log = Exactly.log(width)
    first = _number("35.91") * width ** _number("-0.2285")
    first *= active ** (_number("-0.1889") + _number("0.0098") * log)
    second = _number("35.98") * width ** _number("0.5529")
    second *= tokens ** (_number("-0.1775") + _number("-0.0259") * log)
    return first + second + _number("1.3637")


def dense(size: Any, tokens: Any) -> Any:
    """The same of a dense model."""
    return joint(size, tokens, Exactly.mpf(1))


def leverage(sizes: Sizes) -> Any:
    """Tian et al. 2025, equation 13, as a dense model of leverage times the active size."""
    fine = Exactly.log(max(sizes["fineness"], 2), 2)
    flop = 6 * sizes["active"] * sizes["tokens"]
    exponent = _number("1.23") - _number("0.0761") * Exactly.log10(flop)
    exponent += _number("0.0167") * fine**2 - _number("0.117") * fine
    width = _saturated(1 / _expansion(sizes) + 1, "0.0163", "5.28e16")
    return dense(width**exponent * sizes["active"], sizes["tokens"])


def five_factors(sizes: Sizes) -> Any:
    """Zhao et al. 2025 without credit for shared experts."""
    count = sizes["top_k"] + sizes["shared"]
    total, active = sizes["total"], sizes["active"]
    mixture = _number("0.1577") * count + _number("7.2446") / count
    power = _number("-0.2383")
    scale = total**power + _number("0.0013") * active**power + _number("0.0450") * active / total
    loss = mixture * scale + _number("38.051") * total**power + _number("31.096") * active**power
    return loss + _number("27129.05") * sizes["tokens"] ** _number("-0.4694") + _number("1.8182")


def effective(sizes: Sizes) -> Any:
    """A dense model of the effective size."""
    ratio, most = sizes["total"] / sizes["active"], _number("107")
    saturated = ratio * (1 + 1 / most) / (1 + ratio / most)
    fine = 1 - 1 / min(sizes["top_k"] + sizes["shared"], Exactly.mpf(16))
    size = sizes["active"] * saturated ** _number("0.648") * Exactly.exp(_number("0.285") * fine)
    return dense(size, sizes["tokens"])


def geometric(sizes: Sizes) -> Any:
    """A dense model of the geometric mean of total and active size."""
    return dense(Exactly.sqrt(sizes["total"] * sizes["active"]), sizes["tokens"])


def loss_difference(design: Sizes, reference: Sizes) -> Any:
    """Mean over the five of design minus reference."""
    laws = (
        geometric,
        effective,
        leverage,
        lambda sizes: joint(sizes["active"], sizes["tokens"], _expansion(sizes)),
        five_factors,
    )
    return sum((law(design) - law(reference) for law in laws), Exactly.mpf(0)) / len(laws)
