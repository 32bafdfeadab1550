"""JSON schemas for editors."""

import json
from typing import Any

import pytest

from codesign.errors import UsageError
from codesign.spec.schemas import SPECS, json_schema


@pytest.mark.parametrize("name", SPECS)
def test_schema_names_every_field_and_allows_no_other(name: str) -> None:
    schema = json_schema(name)
    assert set(schema["properties"]) == set(SPECS[name].model_fields)
    assert schema["additionalProperties"] is False
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize("name", SPECS)
def test_required_fields_are_those_without_a_default(name: str) -> None:
    required = {key for key, field in SPECS[name].model_fields.items() if field.is_required()}
    assert set(json_schema(name).get("required", [])) == required


def property_of(name: str, *path: str) -> dict[str, Any]:
    schema = json_schema(name)
    node: dict[str, Any] = schema
    for part in path:
        node = node["properties"][part]
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    return node


def test_quantities_are_text_with_their_unit_explained() -> None:
    field = property_of("deployment", "sd_overhead")
    assert field["type"] == "string"
    assert "ms" in field["description"]


def test_counts_have_their_bounds() -> None:
    assert property_of("workload", "context")["minimum"] == 0
    assert property_of("study", "workload", "context")["minimum"] == 0


def test_choices_are_listed() -> None:
    engines = property_of("study", "search", "engine")["enum"]
    assert {"auto", "exact", "optuna"} <= set(engines)


def test_an_unknown_schema_gets_the_nearest_name() -> None:
    with pytest.raises(UsageError) as caught:
        json_schema("hardwre")
    message = str(caught.value)
    assert message.startswith("unknown schema 'hardwre'; did you mean 'hardware'?; known: study, ")
