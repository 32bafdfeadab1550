"""What each mechanism of the model does for a figure, shared out so that the parts add up."""

from collections.abc import Callable, Mapping
from typing import Final

from codesign.ablation.shapley import Coalition, evaluate_coalitions, shapley_values
from codesign.records import Record
from codesign.spec.ablation import TermName

NO_DIFFERENCE: Final = 1e-9
"""Full and bare model agree to within this: there is nothing to take shares of."""

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
        ``share`` of the difference between the two, ``drop_one`` (what is lost if it alone is
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
    told_apart = abs(full - bare) > NO_DIFFERENCE * abs(full)
    return {
        "name": name,
        "full": full,
        "bare": bare,
        "shapley": own,
        "share": own / (full - bare) if told_apart else None,
        "drop_one": full - values[everything - frozenset(terms)],
        "add_one": values[frozenset(terms)] - bare,
    }
