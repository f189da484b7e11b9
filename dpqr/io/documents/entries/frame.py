"""Frame: what compiling one entry may look at, and what it comes to."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from dpqr.data.arrays import Axes
from dpqr.data.attribute import Attribute, Bins, Codes, Labels
from dpqr.data.domain import Domain
from dpqr.errors import DocumentError
from dpqr.io.documents.cuts import code_bins
from dpqr.io.documents.place import Place
from dpqr.workload.block import Factor, QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """Blocks over the whole domain's axes, in the entry's order; notes: what the plan must say of them.

    binning_error: largest error a record that replacing values by midpoints adds; None where no values are.
    work: cells that its predicate looks at, once a comparison.
    """

    blocks: tuple[QueryBlock, ...]
    notes: tuple[str, ...] = ()
    binning_error: Fraction | None = None
    work: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The domain, the entry's place in the document, and the folder that file names are relative to.

    known: factors that entries of the same document have made before, by what they say: a hundred thousand predicates
    say few things of their columns.
    """

    domain: Domain
    place: Place
    folder: Path
    known: dict[Hashable, Factor] = field(default_factory=dict, repr=False, compare=False)

    def axis(self, name: str, place: Place) -> int:
        try:
            return self.domain.axis(name)
        except DocumentError as error:
            raise place.fault(str(error)) from None

    def axes(self, names: Sequence[str], place: Place) -> Axes:
        """Positions of distinct columns."""
        found = tuple(self.axis(name, place.item(index)) for index, name in enumerate(names))
        for index, axis in enumerate(found):
            if axis in found[:index]:
                raise place.item(index).fault(f"the column {names[index]!r} stands twice; keep one of them")
        return found

    def by(self, names: Sequence[str], taken: Iterable[int] = ()) -> tuple[Factor, ...]:
        """Identity factors of the `by` columns, none of which may be in `taken`."""
        place = self.place.key("by")
        axes = self.axes(names, place)
        for index, axis in enumerate(axes):
            if axis in taken:
                raise place.item(index).fault(
                    f"the column {names[index]!r} is what this entry asks about; leave it out"
                )
        return self.identities(axes)

    def identities(self, axes: Axes) -> tuple[Factor, ...]:
        return tuple(Factor.identity(axis, self.domain.attributes[axis].size) for axis in axes)

    def ordered(self, axis: int, place: Place) -> tuple[Attribute, Bins]:
        """The column at `axis` as bins; labels are refused."""
        attribute = self.domain.attributes[axis]
        if isinstance(attribute.axis, Labels):
            raise place.fault(
                f"column {attribute.name!r} holds labels, which have no order; only binned columns have one"
            )
        return attribute, code_bins(attribute.axis.size) if isinstance(attribute.axis, Codes) else attribute.axis


def called(kind: str, by: Sequence[str]) -> str:
    """An entry's name where it is given none."""
    return f"{kind} by {','.join(by)}" if by else kind
