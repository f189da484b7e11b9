"""Faults of mechanisms where blocks, units and relations meet: noise for one of several, a price of the other one."""

from faults.anchored import Anchored, at

_ROOM = "mechanisms"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "LaplaceAnswers.event",
        (
            "answers_sensitivity(self.blocks, Norm.L1, self.unit)",
            "answers_sensitivity(self.blocks[:1], Norm.L1, self.unit)",
            "the sensitivity of the first block only",
        ),
        (
            "answers_sensitivity(self.blocks, Norm.L1, self.unit)",
            "max((answers_sensitivity((block,), Norm.L1, self.unit) for block in self.blocks))",
            "blocks are charged as the dearest of them",
        ),
        (
            "answers_sensitivity(self.blocks, Norm.L1, self.unit)",
            "answers_sensitivity(self.blocks, Norm.L1, PrivacyUnit())",
            "a person counts as one added row",
        ),
        (
            "sum((block.rows for block in self.blocks)) == 1",
            "len(self.blocks) == 1",
            "one block is taken for one coordinate",
        ),
    ),
    *at(
        _ROOM,
        "GaussianAnswers.event",
        (
            "answers_sensitivity(self.blocks, Norm.L2_SQUARED, self.unit)",
            "answers_sensitivity(self.blocks[:1], Norm.L2_SQUARED, self.unit)",
            "the sensitivity of the first block only",
        ),
        (
            "answers_sensitivity(self.blocks, Norm.L2_SQUARED, self.unit)",
            "answers_sensitivity(self.blocks, Norm.L1, self.unit)",
            "a sensitivity in L1 is taken for a square",
        ),
    ),
    *at(
        _ROOM,
        "_measured",
        (
            "law.sample(sum((block.rows for block in blocks)), noise)",
            "np.tile(law.sample(blocks[0].rows, noise), len(blocks))[: sum((block.rows for block in blocks))]",
            "blocks share the noise of the first",
        ),
    ),
    *at(
        _ROOM,
        "for_dropped_records",
        ("unit.apart", "unit.column is None", "replaced rows are counted in parallel"),
        ("unit.apart", "unit.neighbours.value == 'add-remove'", "persons' left-out rows are counted in parallel"),
    ),
    *at(
        _ROOM,
        "in_parallel",
        (
            "isinstance(event, LeftOutEvent)",
            "isinstance(event, LeftOutEvent) and count == 1",
            "several draws from left-out records are lost",
            1,
        ),
    ),
    *at(
        _ROOM,
        "larger",
        ("max(known)", "known[0]", "the price of left-out records is not looked at"),
        (
            "max(known) if len(known) == len(prices) else None",
            "max(known, default=None)",
            "draws without a price cost nothing",
        ),
    ),
    *at(
        _ROOM,
        "one_after_another",
        ("total[event] += count", "total[event] = count", "equal draws of both parts are one"),
    ),
)
