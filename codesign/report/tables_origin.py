"""Tables of where an answer comes from: calibration, assumptions, versions, how to repeat it."""

from hashlib import sha256

import yaml

from codesign.records import Record
from codesign.report.cells import Row, Table, cell, table
from codesign.report.formats import to_json

SECTIONS = {
    "routing": "how alike nearby tokens' experts are",
    "acceptance": "how many drafted tokens are accepted",
    "latency": "kernel constants, host and SD overhead",
    "quality": "loss against the expert shape",
}


def calibration_table(result: Record) -> Table:
    """Return what was measured for this study, and what was not."""
    file, measured = result["study"].get("calibration"), _measured(result)
    drawn: dict[str, int] = {}
    for row in result["value_of_information"] or []:
        drawn[row["calibrate"]] = drawn.get(row["calibrate"], 0) + 1
    rows: list[Row] = []
    for section, meaning in SECTIONS.items():
        inputs = drawn.get(section, 0)
        if section in measured:
            status = f"measured: {file}"
        else:
            status = "not measured for this study: published or stated values"
        if inputs:
            status += f"; {inputs} input{'s' * (inputs > 1)} drawn"
        rows.append([section, meaning, status, f"codesign calibrate {section}"])
    return table(
        "calibration",
        "Calibration and validation",
        {"section": "", "what": "what it is", "status": "status", "command": "measured by"},
        rows,
        ("" if file else "No calibration file was given. ")
        + "The result holds no comparison with measurements; codesign validate makes one.",
    )


def _measured(result: Record) -> list[str]:
    """Sections that a calibration was used for, as the assumptions say."""
    for line in result["assumptions"]:
        topic, _, sentence = line.partition(": ")
        if topic == "calibration" and " calibrated" in sentence:
            return str(sentence).partition(" calibrated")[0].split(", ")
    return []


def assumptions_table(result: Record) -> Table:
    """Return every assumption, topic by topic."""
    parts = (line.partition(": ") for line in result["assumptions"])
    rows = [[topic, sentence] for topic, _, sentence in parts]
    columns = {"topic": "", "assumption": "assumption and where it comes from"}
    return table("assumptions", "Assumptions", columns, rows)


def provenance_table(result: Record) -> Table:
    """Return versions, seed and hashes, and the command that repeats the answer."""
    rows: list[Row] = [
        [f"version of {name}", cell(result, "versions", name)] for name in result["versions"]
    ]
    rows += [
        ["seed of sampler and draws", cell(result, "study", "search", "seed")],
        ["engine", cell(result, "study", "search", "engine")],
        ["sha256 of result.json", digest(to_json(result))],
        ["sha256 of study.yaml", digest(study_yaml(result))],
        ["command", "codesign optimize --study study.yaml --format json"],
    ]
    return table(
        "provenance",
        "Provenance",
        {"what": "", "value": ""},
        rows,
        "With these versions and the study as study.yaml, the command prints result.json again, "
        "byte for byte.",
    )


def study_yaml(result: Record) -> str:
    """Return the resolved study as the file that repeats it."""
    return yaml.safe_dump(result["study"], sort_keys=False, allow_unicode=True)


def digest(text: str) -> str:
    """Return the SHA-256 of a text."""
    return sha256(text.encode()).hexdigest()
