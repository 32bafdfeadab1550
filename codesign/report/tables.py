"""Every table of a result, made once, in the order in which a report shows them."""

from codesign.records import Record
from codesign.report.cells import Table
from codesign.report.tables_answer import (
    components_table,
    constraints_table,
    designs_table,
    front_table,
    memory_table,
)
from codesign.report.tables_confidence import (
    axes_table,
    certificate_table,
    elasticity_table,
    information_table,
    plateau_table,
    quality_table,
    stability_table,
)
from codesign.report.tables_origin import (
    assumptions_table,
    calibration_table,
    provenance_table,
)

MAKERS = (
    designs_table,
    front_table,
    components_table,
    memory_table,
    constraints_table,
    quality_table,
    stability_table,
    plateau_table,
    information_table,
    axes_table,
    elasticity_table,
    certificate_table,
    calibration_table,
    assumptions_table,
    provenance_table,
)


def result_tables(result: Record) -> dict[str, Table]:
    """Return the tables of a result by name.

    Parameters
    ----------
    result : dict
        As `Result.to_dict` returns it, or result.json read back.
    """
    return {made.name: made for made in (make(result) for make in MAKERS)}
