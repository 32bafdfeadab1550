"""The refit of the effective-parameters law from a team's own ablations."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from codesign.calibration.quality import COLUMNS, fit_effective_parameters, read_ablations
from codesign.errors import CalibrationError, DataError
from codesign.model.quality.laws import dense_loss, effective_parameters

SHARED = Path(__file__).parents[2].parent / "shared"
ABLATIONS = SHARED / "data" / "quality" / "ablations.csv"

TRUTH = {"theta": 0.55, "eta": 0.4, "maximum": 60.0}


def synthetic(groups: int = 4, noise: float = 0.0) -> pd.DataFrame:
    """Ablations that obey the law at TRUTH, each group on data of its own difficulty."""
    generator = np.random.default_rng(1)
    experts, top_k = np.array([1, 8, 8, 16, 64, 64, 256, 128]), np.array([1, 1, 2, 2, 4, 8, 8, 6])
    rows = []
    for i in range(groups):
        active = 2e8 * (i + 1) * (0.5 + 0.05 * top_k)
        total = active * (0.2 + 0.8 * experts / top_k)
        table = pd.DataFrame({"N": experts, "k": top_k, "S": 0, "d_shared": 0, "d_expert": 512})
        size = effective_parameters(total, active, top_k, **TRUTH)
        loss = dense_loss(size, 5e10) + 0.3 * i + noise * generator.standard_normal(experts.size)
        rows.append(table.assign(group=f"run {i}", total=total, active=active, D=5e10, loss=loss))
    return pd.concat(rows, ignore_index=True)


def test_round_trip_of_synthetic_ablations() -> None:
    fit = fit_effective_parameters(synthetic(), replicates=4)
    found = {name: getattr(fit, name).value for name in TRUTH}
    assert found == pytest.approx(TRUTH, rel=1e-3)
    assert fit.residual < 1e-6
    assert max(fit.left_out.values()) < 1e-6
    assert fit.runs == 32


def test_intervals_widen_with_noise_and_hold_the_truth() -> None:
    quiet, noisy = (
        fit_effective_parameters(synthetic(8, sd), replicates=50) for sd in (1e-4, 5e-3)
    )
    assert noisy.theta.high - noisy.theta.low > 5 * (quiet.theta.high - quiet.theta.low)
    for name, truth in TRUTH.items():
        interval = getattr(noisy, name)
        assert interval.low <= interval.value <= interval.high
        assert interval.low < truth < interval.high
    assert noisy.residual == pytest.approx(5e-3, rel=0.3)


def test_a_common_shift_of_a_group_changes_nothing() -> None:
    # Only within-group differences count: another tokenizer's nats must not matter.
    table = synthetic(noise=1e-3)
    shifted = table.assign(loss=table["loss"] + table["group"].map({"run 1": 5.0}).fillna(0))
    first, second = (fit_effective_parameters(t, replicates=1) for t in (table, shifted))
    assert second.theta.value == pytest.approx(first.theta.value, rel=1e-4)


def test_the_fit_replaces_the_ensembles_member() -> None:
    fit = fit_effective_parameters(synthetic(), replicates=4)
    assert fit.law.name == "effective_parameters"
    assert fit.law.coefficients == (fit.theta, fit.eta, fit.maximum)


def test_a_group_of_one_run_is_dropped() -> None:
    lone = synthetic(1).head(1).assign(group="lone")
    fit = fit_effective_parameters(pd.concat([synthetic(), lone]), replicates=1)
    assert (fit.runs, set(fit.left_out)) == (32, {"run 0", "run 1", "run 2", "run 3"})


def test_one_group_is_not_enough() -> None:
    with pytest.raises(CalibrationError, match=r"1 group\(s\) of two or more runs"):
        fit_effective_parameters(synthetic(1))


@pytest.mark.parametrize(
    ("column", "missing"),
    [("total", "total/active (theta and E_m"), ("k", "k + S (eta")],
)
def test_a_constant_column_is_named(column: str, missing: str) -> None:
    table = synthetic()
    table[column] = 3 * table["active"] if column == "total" else 8
    with pytest.raises(CalibrationError) as error:
        fit_effective_parameters(table)
    assert f"no group has runs that differ in {missing}" in str(error.value)


def test_reading_keeps_the_columns_of_the_fit(tmp_path: Path) -> None:
    path = tmp_path / "ablations.csv"
    table = synthetic()
    table.assign(seed=7, source="ours").to_csv(path, index=False)
    read = read_ablations(path)
    assert set(read.columns) == set(COLUMNS)
    assert read["loss"].to_numpy() == pytest.approx(table["loss"].to_numpy())


def test_missing_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "ablations.csv"
    synthetic().drop(columns=["loss", "k"]).to_csv(path, index=False)
    with pytest.raises(DataError) as error:
        read_ablations(path)
    assert str(error.value) == f"{path}: missing columns: k, loss"


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("active", "3.3B", "line 3: active must be a positive number, not '3.3B'"),
        ("D", "0", "line 3: D must be a positive number, not '0'"),
        ("loss", "", "line 3: loss must be a positive number, not ''"),
        ("S", "-1", "line 3: S must be zero or a positive number, not '-1'"),
    ],
)
def test_a_bad_number_is_named(tmp_path: Path, column: str, value: str, message: str) -> None:
    path = tmp_path / "ablations.csv"
    table = synthetic().astype({column: object})
    table.loc[1, column] = value
    table.to_csv(path, index=False)
    with pytest.raises(DataError, match=rf", {message}$"):
        read_ablations(path)


@pytest.mark.parametrize("content", [None, "", '"'])
def test_a_file_that_is_no_table(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ablations.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match="cannot be read as CSV"):
        read_ablations(path)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="../shared is absent")
def test_the_published_coefficients_come_out_of_the_shared_ablations() -> None:
    # Design notes, quality: theta .648 [.608, .681], eta .285 [.165, .442], E_m 107 [84, 151].
    # Hash layers do not learn their routing and are left out.
    learned = ~pd.read_csv(ABLATIONS)["run"].str.contains("Hash")
    fit = fit_effective_parameters(read_ablations(ABLATIONS)[learned])
    published = [(0.648, 0.608, 0.681), (0.285, 0.165, 0.442), (107.0, 84.0, 151.0)]
    for interval, (value, low, high) in zip(
        (fit.theta, fit.eta, fit.maximum), published, strict=True
    ):
        assert low < interval.value < high
        assert interval.low < value < interval.high
        assert interval.value == pytest.approx(value, rel=0.07)
        assert interval.high - interval.low == pytest.approx(high - low, rel=0.4)
