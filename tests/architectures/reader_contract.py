"""What every reader of a family must do. Subclass it, give `family` and `fields`, and run pytest.

Authors of readers outside this project can use it as it is: see docs/adding-a-family.md.
"""

import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from codesign.architectures.config import Config, read_config
from codesign.architectures.counting import count_parameters
from codesign.architectures.export import export_config
from codesign.architectures.family import Family
from codesign.errors import CodesignError, DataError
from codesign.spec.architecture import Architecture

NONSENSE: tuple[Any, ...] = ("x", -1, 1.5, math.nan, math.inf, True, 10**30, [], ["x"], [[]], {})


class ReaderContract:
    """Tests of one family.

    Attributes
    ----------
    family : Family
        The family under test.
    fields : dict
        A small config.json that it must read.
    """

    family: Family
    fields: dict[str, Any]

    def read(self, tmp_path: Path, fields: dict[str, Any]) -> Architecture:
        """Read fields as a file would give them."""
        return self.family.read(self.config(tmp_path, fields))

    def config(self, tmp_path: Path, fields: dict[str, Any]) -> Config:
        """Write a file and open it."""
        path = tmp_path / "config.json"
        path.write_text(json.dumps(fields))
        return read_config(path)

    def test_facts(self, tmp_path: Path) -> None:
        """Names, layers and counts agree with each other."""
        architecture = self.read(tmp_path, self.fields)
        counts = count_parameters(architecture)
        feed_forward = sum(group.layers for group in architecture.dense)
        feed_forward += architecture.moe.layers if architecture.moe else 0
        assert architecture.family in self.family.model_types
        assert architecture.source == str(tmp_path / "config.json")
        assert feed_forward >= 1
        assert 0 < counts.active <= counts.total
        assert (counts.routed > 0) == (architecture.moe is not None)

    def test_written_down_and_read_again(self, tmp_path: Path) -> None:
        """An architecture survives its own YAML form."""
        architecture = self.read(tmp_path, self.fields)
        assert Architecture.from_data(architecture.to_data()) == architecture

    def test_text_inside_another_model(self, tmp_path: Path) -> None:
        """Everything in ``text_config`` counts the same, and the tower is said to be left out."""
        nested = {"text_config": self.fields, "vision_config": {"depth": 2}}
        outside, inside = self.read(tmp_path, self.fields), self.read(tmp_path, nested)
        assert count_parameters(inside) == count_parameters(outside)
        assert any("vision tower left out" in note for note in inside.notes)

    def test_more_experts_per_token_than_experts(self, tmp_path: Path) -> None:
        """k > N is refused."""
        if self.family.experts is None or self.read(tmp_path, self.fields).moe is None:
            pytest.skip("a dense model")
        changed = deepcopy(self.fields)
        _set(changed, self.family.experts.top_k, 10_000)
        with pytest.raises(DataError, match="top_k"):
            self.read(tmp_path, changed)

    def test_missing_fields(self, tmp_path: Path) -> None:
        """Without any one field it reads, or says which file and field it misses."""
        for name in self.fields:
            changed = {key: value for key, value in self.fields.items() if key != name}
            self._reads_or_refuses(tmp_path, changed)

    def test_nonsense(self, tmp_path: Path) -> None:
        """A value of the wrong kind or size is refused or ignored, never a crash."""
        for name in self.fields:
            for value in NONSENSE:
                self._reads_or_refuses(tmp_path, self.fields | {name: value})

    @pytest.mark.parametrize("name", ["hidden_size", "num_hidden_layers", "vocab_size"])
    @pytest.mark.parametrize("value", [0, -1, 1.5, "x", True, 10**30, None])
    def test_sizes_are_never_guessed(self, tmp_path: Path, name: str, value: Any) -> None:
        """A bad or missing size of the whole model is an error that names field and file."""
        if name not in self.fields:
            pytest.skip("named otherwise in this family")
        with pytest.raises(DataError, match=f"config.json: field {name}"):
            self.read(tmp_path, self.fields | {name: value})

    def test_export_reads_back(self, tmp_path: Path) -> None:
        """What `write` gives has the same facts and counts."""
        if self.family.write is None:
            pytest.skip("no writer")
        architecture = self.read(tmp_path, self.fields)
        try:
            exported = export_config(architecture)
        except CodesignError as error:
            pytest.skip(str(error))
        again = self.read(tmp_path, exported)
        assert count_parameters(again) == count_parameters(architecture)
        assert again.moe == architecture.moe
        assert set(again.attention) == set(architecture.attention)

    def test_export_over_its_own_file(self, tmp_path: Path) -> None:
        """Nothing changes where nothing is to change."""
        config = self.config(tmp_path, self.fields)
        assert export_config(self.family.read(config), config) == self.fields

    def _reads_or_refuses(self, tmp_path: Path, fields: dict[str, Any]) -> None:
        try:
            self.read(tmp_path, fields)
        except DataError as error:
            assert str(tmp_path) in str(error)


def _set(fields: dict[str, Any], names: tuple[str, ...], value: int) -> None:
    """Set a field wherever in the file it stands."""
    for part in (fields, *(item for item in fields.values() if isinstance(item, dict))):
        for name in names:
            if name in part:
                part[name] = value
                return
