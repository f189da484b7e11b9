"""Values: a Struct where fields are all there is; a dataclass where one is a cache, or is not printed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

if TYPE_CHECKING:
    from dataclasses import replace as replace  # a type checker then compares names and types of the changes
else:

    def replace(value: Any, /, **changes: Any) -> Any:
        """The value with other fields, checked as a new one is."""
        return (structs if isinstance(value, Struct) else dataclasses).replace(value, **changes)


def field_names(value: object) -> tuple[str, ...]:
    """The fields of a value or of its class, in their order; none where it is neither a Struct nor a dataclass."""
    kind = value if isinstance(value, type) else type(value)
    if issubclass(kind, Struct):
        return kind.__struct_fields__
    return tuple(each.name for each in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()


def is_frozen(kind: type) -> bool:
    """Whether objects of the class are values that never change."""
    if issubclass(kind, Struct):
        return bool(kind.__struct_config__.frozen)
    return dataclasses.is_dataclass(kind) and bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
