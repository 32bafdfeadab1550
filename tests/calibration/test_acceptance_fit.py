"""The fit of acceptance: unbiased, with honest errors, and never a mean over draft lengths."""

from pathlib import Path

import numpy as np
import pytest

from codesign.calibration.accepted.survival_fit import (
    constant_rate,
    decaying_rate,
    first_rate_of_length,
    monotone_survival,
)
from codesign.model.acceptance import acceptance_length, decay_survival
from codesign.spec.calibration import AcceptanceSection
from tests.calibration.acceptance_files import (
    calibrated,
    drawn,
    prometheus,
    serve_result,
    v1_line,
    written,
)

THINKING_ON = "{1: 1.78, 2: 2.38, 3: 2.83, 4: 3.11, 5: 3.35, 6: 3.45, 7: 3.53, 8: 3.74}"
THINKING_OFF = "{1: 1.84, 2: 2.52, 3: 2.93, 4: 3.41, 5: 3.59, 6: 3.57, 7: 3.85, 8: 4.06}"


@pytest.mark.parametrize("ratio", [1.0, 0.965, 0.74])
def test_truth_lies_within_two_standard_errors(tmp_path: Path, ratio: float) -> None:
    """50 seeds of a log with 12 intervals; the constant rate is true where nothing decays."""
    first, positions, seeds = 0.7645, 5, range(100, 150)
    survival = decay_survival(first, ratio, positions)
    truth = {f"survival_{i + 1}": float(share) for i, share in enumerate(survival)}
    truth |= {"rate": first} if ratio == 1.0 else {"first": first, "ratio": ratio}
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in truth}
    for seed in seeds:
        generator = np.random.default_rng(seed)
        lines = [v1_line(400, drawn(survival.tolist(), 400, generator)) for _ in range(12)]
        section = calibrated(written(tmp_path, "v.log", "\n".join(lines)))
        for name in truth:
            figure = section.parameters[name]
            assert figure.standard_error is not None
            seen[name].append((figure.value, figure.standard_error))
    for name, pairs in seen.items():
        values, errors = np.array(pairs).T
        inside = np.mean(np.abs(values - truth[name]) <= 2 * errors)
        spread = errors.mean() / values.std(ddof=1)
        print(f"{name}: {inside:.0%} inside, error / spread {spread:.2f}")
        assert 0.85 <= inside <= 0.99, name
        assert 0.75 <= spread <= 1.25, name


def test_intervals_that_scatter_widen_the_errors(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    calm = [v1_line(500, drawn([0.8, 0.6, 0.4], 500, generator)) for _ in range(20)]
    mixed = [
        v1_line(500, drawn([0.8 + s, 0.6 + s, 0.4 + s], 500, generator))
        for s in np.linspace(-0.15, 0.15, 20)
    ]
    errors = [
        calibrated(written(tmp_path, "v.log", "\n".join(lines))).parameters["survival_1"]
        for lines in (calm, mixed)
    ]
    assert errors[0].standard_error is not None and errors[1].standard_error is not None
    assert errors[1].standard_error > 2 * errors[0].standard_error


def test_known_curves_are_found_exactly() -> None:
    survival = decay_survival(0.79, 0.91, 6)
    assert decaying_rate(survival, None).values == pytest.approx([0.79, 0.91], abs=1e-6)
    assert constant_rate(decay_survival(0.7, 1.0, 5), None).values == pytest.approx([0.7])
    length = float(acceptance_length(decay_survival(0.7645, 0.965, 3), 3))
    assert first_rate_of_length(3, length, 0.965) == pytest.approx(0.7645, abs=1e-9)
    draft = np.arange(1.0, 9.0)
    lengths = acceptance_length(decay_survival(0.8, 0.95, 8), np.arange(1, 9))
    monotone = monotone_survival(draft, lengths, np.ones(8))
    assert monotone == pytest.approx(decay_survival(0.8, 0.95, 8), abs=1e-3)


def test_all_accepted_and_none_accepted(tmp_path: Path) -> None:
    section = calibrated(written(tmp_path, "a.json", serve_result(100, (100, 100, 100))))
    assert section.groups[0].acceptance_length.value == 4
    none = calibrated(written(tmp_path, "n.json", serve_result(100, (0, 0, 0))))
    assert none.groups[0].acceptance_length.value == 1


# ---- several draft lengths ---------------------------------------------------------------------


def test_a07_curves_that_disagree_are_not_averaged(tmp_path: Path) -> None:
    """Case A07: two servers' metrics, K = 4 and K = 2."""
    four = prometheus((20000, (16880, 11980, 7700, 5420)))
    two = prometheus((20000, (15320, 10900)), created=1.8e9)
    paths = [written(tmp_path, "4.prom", four), written(tmp_path, "2.prom", two)]
    section = calibrated(*paths)
    found = {group.draft_tokens: group.acceptance_length.value for group in section.groups}
    assert found == {4: pytest.approx(3.099), 2: pytest.approx(2.311)}
    assert section.survival == (0.844, 0.599, 0.385, 0.271)
    assert any("disagree at position 1: 0.766 against 0.844" in w for w in section.warnings)
    assert any("that of K = 4" in note for note in section.notes)


def test_draft_lengths_are_never_merged(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    survival = [0.8, 0.6, 0.45, 0.3]
    paths = [
        written(tmp_path, f"{k}.json", serve_result(n, drawn(survival[:k], n, generator)))
        for k, n in ((2, 8000), (4, 2000))
    ]
    section = calibrated(*paths)
    assert len(section.survival) == 2  # K = 2 has most of the drafts
    assert [group.drafts for group in section.groups] == [8000, 2000]
    assert not section.warnings


def lengths_beyond(section: AcceptanceSection) -> list[int]:
    table = section.table("acceptance_length")
    assert table is not None
    flags = zip(table.column("K"), table.column("beyond the data"), strict=True)
    return [int(k or 0) for k, flag in flags if flag]


def test_lengths_beyond_the_data_are_flagged(tmp_path: Path) -> None:
    section = calibrated(written(tmp_path, "b.json", serve_result(1000, (800, 600, 400))))
    assert lengths_beyond(section) == [4, 5, 6, 7, 8]
    assert any("extrapolated" in note for note in section.notes)


def test_one_position_leaves_the_ratio(tmp_path: Path) -> None:
    section = calibrated(written(tmp_path, "b.json", serve_result(1000, (840,))))
    assert section.survival == (0.84,)
    assert set(section.defaults) == {"ratio"}


# ---- lists of lengths --------------------------------------------------------------------------


def test_c13_differences_of_runs_are_no_survival_curve(tmp_path: Path) -> None:
    text = f"thinking_on: {THINKING_ON}\nthinking_off: {THINKING_OFF}\n"
    section = calibrated(written(tmp_path, "golden.yaml", text))
    table = section.table("series")
    assert table is not None
    residual = {(row[0], row[1]): abs(float(row[4] or 0)) for row in table.rows}
    assert residual["thinking_off", 6] >= 0.05
    assert max(residual.values()) == residual["thinking_off", 6]
    assert all(np.diff(section.survival) <= 1e-12)
    assert section.form == "positions"
    assert "disagree" not in " ".join(section.warnings)


def test_lists_of_one_file_and_tables_say_the_same(tmp_path: Path) -> None:
    csv = "K,AL\n" + "".join(
        f"{part.split(':')[0].strip()},{part.split(':')[1].strip()}\n"
        for part in THINKING_ON.strip("{}").split(",")
    )
    listed = calibrated(written(tmp_path, "l.yaml", THINKING_ON))
    assert calibrated(written(tmp_path, "t.csv", csv)).survival == pytest.approx(listed.survival)


def test_lengths_at_separate_k_use_the_decay(tmp_path: Path) -> None:
    curve = decay_survival(0.8, 0.95, 8)
    written_lengths = {k: round(float(acceptance_length(curve, k)), 4) for k in (2, 4, 8)}
    section = calibrated(written(tmp_path, "l.yaml", str(written_lengths)))
    assert section.form == "decay"
    assert section.parameters["first"].value == pytest.approx(0.8, abs=1e-3)
    assert section.parameters["ratio"].value == pytest.approx(0.95, abs=1e-3)


def test_survival_by_draft_length_in_yaml(tmp_path: Path) -> None:
    text = "{4: [0.844, 0.599, 0.385, 0.271], 2: [0.766, 0.545]}"
    section = calibrated(written(tmp_path, "a07.yaml", text))
    assert section.survival == (0.844, 0.599, 0.385, 0.271)
    assert any("disagree at position 1" in warning for warning in section.warnings)
    assert all(figure.standard_error is None for figure in section.parameters.values())
