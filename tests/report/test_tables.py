"""Tables made once: every cell is the result's, and what is missing says so."""

import pytest

from codesign.records import Record
from codesign.report.cells import Table
from codesign.report.result_tables import render_result
from codesign.report.tables import result_tables
from codesign.report.tables_origin import digest
from codesign.result import Certificate, Result
from tests.report.shown_numbers import at


def column(table: Table, key: str) -> dict[object, object]:
    """Return one column by the name of its row."""
    place = [each.key for each in table.columns].index(key)
    return {row[0].value: row[place].value for row in table.rows}


def test_every_cell_is_what_it_points_to(result: Record) -> None:
    cells = [cell for table in result_tables(result).values() for row in table.rows for cell in row]
    pointing = [cell for cell in cells if cell.pointers]
    assert len(pointing) > 250
    for cell in pointing:
        values = [at(result, pointer) for pointer in cell.pointers]
        if cell.combination == "change" and values[1] == 0:
            assert cell.value is None
            continue
        expected = values[0] / values[1] - 1 if cell.combination == "change" else values[0]
        assert cell.value == pytest.approx(expected)


def test_no_figure_is_without_its_origin(result: Record) -> None:
    for table in result_tables(result).values():
        for row in table.rows:
            for cell in row[1:]:
                assert cell.pointers or not cell.is_number, (table.name, cell)


def test_expected_and_point_estimates_are_told_apart(result: Record) -> None:
    best = column(result_tables(result)["designs"], "best")
    assert best["SD speedup, expected"] == result["best"]["objectives"]["sd_speedup"]
    assert best["SD speedup, values in use"] == result["best"]["prediction"]["sd_speedup"]


def test_a_throughput_best_of_its_own_gets_a_column(result: Record) -> None:
    keys = [each.key for each in result_tables(result)["designs"].columns]
    assert "throughput_best" not in keys  # it is the best itself
    result["throughput_best"]["design"] = result["reference"]["design"]
    keys = [each.key for each in result_tables(result)["designs"].columns]
    assert "throughput_best" in keys


def test_constraints_carry_their_prices(result: Record) -> None:
    table = result_tables(result)["constraints"]
    lifted = column(table, "gain_without")
    assert lifted["quality (cautious loss) [nat/token]"] == result["binding"][0]["gain_without"]
    assert lifted["memory per GPU"] is None
    steps = {row["constraint"]: row["step"] for row in result["shadow_prices"]}
    assert column(table, "step")["memory per GPU"] == steps["memory"]


def test_what_was_not_computed_says_why(result: Record) -> None:
    result["stability"] = result["plateau"] = result["sensitivity"] = None
    result["value_of_information"] = None
    for name in ("stability", "plateau", "information", "axes", "elasticities"):
        table = result_tables(result)[name]
        assert table.rows == ()
        assert "nothing was drawn" in table.note


def test_calibrated_sections_are_told_from_defaults(result: Record) -> None:
    status = column(result_tables(result)["calibration"], "status")
    assert str(status["acceptance"]).startswith("not measured")
    assert str(status["acceptance"]).endswith("2 inputs drawn")
    result["study"]["calibration"] = "ours.yaml"
    result["assumptions"].insert(
        0, "calibration: routing, acceptance calibrated; documented defaults for latency"
    )
    status = column(result_tables(result)["calibration"], "status")
    assert str(status["acceptance"]).startswith("measured: ours.yaml")
    assert str(status["latency"]).startswith("not measured")


def test_provenance_names_the_bytes(result: Record) -> None:
    values = column(result_tables(result)["provenance"], "value")
    assert values["seed of sampler and draws"] == 0
    assert values["sha256 of result.json"] != digest("")
    result["study"]["search"]["seed"] = 1
    changed = column(result_tables(result)["provenance"], "value")
    assert changed["sha256 of study.yaml"] != values["sha256 of study.yaml"]


def test_the_terminal_shows_the_same(result: Record) -> None:
    fields = {k: v for k, v in result.items() if k != "schema"}
    fields |= {
        "certificate": Certificate(**result["certificate"]),
        "assumptions": tuple(result["assumptions"]),
        "front_objectives": tuple(result["front_objectives"]),
    }
    text = render_result(Result(**fields), "table")
    for words in (
        result["verdict"]["text"][:60], "certificate: exact", "SD speedup, expected",
        "SD speedup: 5 % of draws below", "Constraints, and what each costs", "loosened by",
        "law by law", "optimal in", "Plateau", "measured by", "interactions",
        "Pareto front", "Assumptions",
    ):  # fmt: skip
        assert words in text
    assert max(map(len, text.splitlines())) <= 100
