"""What each mechanism of the model does for a figure, shared out so that the parts add up."""

from collections.abc import Callable, Mapping
from typing import Final

from codesign.ablation.shapley import Coalition, evaluate_coalitions, shapley_values
from codesign.records import Record
from codesign.spec.ablation import TermName

CANCELLED: Final = 0.25
"""Contributions that cancel to less than this part of their sizes leave nothing to share out."""

Mechanisms = Mapping[str, tuple[TermName, ...]]


def weigh(mechanisms: Mechanisms, value_without: Callable[[tuple[TermName, ...]], float]) -> Record:
    """Evaluate every subset of the terms, and share the figure out among them.

    Parameters
    ----------
    mechanisms : dict
        Terms by mechanism.
    value_without : callable
        Returns the figure with some terms taken out.

    Returns
    -------
    dict
        ``mechanisms`` and ``terms``, each a list of contributions with the keys ``name``,
        ``full`` (nothing taken out), ``bare`` (all of these terms taken out), ``shapley``,
        ``share`` of the difference between the two (none where gains and losses cancel),
        ``drop_one`` (what is lost if it alone is
        taken out) and ``add_one`` (what is gained if it alone is put into the bare model).
    """
    names: tuple[TermName, ...] = tuple(n for terms in mechanisms.values() for n in terms)

    def value(present: Coalition) -> float:
        return value_without(tuple(name for name in names if name not in present))

    values = evaluate_coalitions(names, value)
    own = shapley_values(names, values)
    return {
        "mechanisms": [_contribution(name, t, values, own) for name, t in mechanisms.items()],
        "terms": [
            {"mechanism": mechanism} | _contribution(name, (name,), values, own)
            for mechanism, terms in mechanisms.items()
            for name in terms
        ],
    }


def _contribution(
    name: str,
    terms: tuple[TermName, ...],
    values: Mapping[Coalition, float],
    contributions: Mapping[str, float],
) -> Record:
    everything, nothing = frozenset(contributions), Coalition()
    full, bare = values[everything], values[nothing]
    own = sum(contributions[term] for term in terms)
    sizes = sum(abs(value) for value in contributions.values())
    cancelled = abs(full - bare) <= CANCELLED * sizes
    return {
        "name": name,
        "full": full,
        "bare": bare,
        "shapley": own,
        "share": None if cancelled else own / (full - bare),
        "drop_one": full - values[everything - frozenset(terms)],
        "add_one": values[frozenset(terms)] - bare,
    }
