"""The base of every spec, and the field types that carry a unit."""

from functools import partial
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from codesign.errors import did_you_mean
from codesign.units import UNITS, format_quantity, parse_quantity


class Spec(BaseModel):
    """Frozen and strict: no coercion, no unknown field, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _reject_unknown_fields(cls, data: Any) -> Any:
        """Name the nearest field; pydantic's own message cannot."""
        if isinstance(data, dict):
            for key in data:
                if key not in cls.model_fields:
                    known = f"; known: {', '.join(cls.model_fields)}"
                    raise PydanticCustomError(
                        "unknown_field",
                        "unknown field '{key}'{hint}",
                        {
                            "key": str(key),
                            "hint": did_you_mean(str(key), cls.model_fields) or known,
                        },
                    )
        return data

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Validate plain data, as YAML or JSON gives it."""
        return cls.model_validate(data)

    def to_data(self) -> dict[str, Any]:
        """Return plain data with quantities written in units; `from_data` reads it back."""
        data: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        return data

    def revised(self, **changes: object) -> Self:
        """Return a validated copy with some fields changed, the changes given as plain data."""
        return self.from_data(self.to_data() | changes)


def _quantity(dimension: str) -> Any:
    units = [unit for unit in UNITS[dimension] if unit]
    return (
        BeforeValidator(partial(parse_quantity, dimension=dimension)),
        PlainSerializer(partial(format_quantity, dimension=dimension), when_used="json"),
        WithJsonSchema(
            {
                "type": "string",
                "description": f"a number and a unit of {dimension}: {', '.join(units)}",
                "examples": [f"1 {units[min(3, len(units) - 1)]}"],
            }
        ),
    )


Bytes = Annotated[float, *_quantity("size")]
Bandwidth = Annotated[float, *_quantity("bandwidth")]
Compute = Annotated[float, *_quantity("compute")]
Seconds = Annotated[float, *_quantity("time")]
Watts = Annotated[float, *_quantity("power")]
UsdPerHour = Annotated[float, *_quantity("price")]
TokenCount = Annotated[float, *_quantity("count"), Field(gt=0, le=1e18)]

Item = TypeVar("Item")
Items = Annotated[tuple[Item, ...], Field(strict=False)]
"""A YAML list, kept as a tuple so that a frozen spec really is; the items stay strict."""

LARGEST_COUNT = 10**15
"""Above anything that is counted here, and still exact as a float."""

PositiveCount = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
Fraction = Annotated[float, Field(ge=0, le=1)]
