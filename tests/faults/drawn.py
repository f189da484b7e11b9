"""Faults that a tool makes: an operator, a comparison, a number or a condition of the source is changed.

cosmic-ray knows the changes; which of them are tried is drawn from a public seed, evenly over the files of a room.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from faults.anchored import SOURCE, Fault, definition_of, entries

BINARY = "Add_Sub Sub_Add Mul_Div Div_Mul Pow_Mul"
COMPARISON = "Eq_NotEq Lt_GtE LtE_Gt Gt_LtE GtE_Lt Is_IsNot"
OTHER = "ReplaceAndWithOr ReplaceOrWithAnd ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceUnaryOperator_USub_Not"
OPERATORS = (
    *(f"ReplaceBinaryOperator_{name}" for name in BINARY.split()),
    *(f"ReplaceComparisonOperator_{name}" for name in COMPARISON.split()),
    *(*OTHER.split(), "ReplaceUnaryOperator_Delete_Not", "NumberReplacer", "ZeroIterationForLoop"),
)
WITHOUT_EFFECT = ("@dataclass", "@lru_cache")
"""Lines whose options change neither an answer nor a price."""
EXPLAINED = {(where, line): why for where, why, line in entries(Path(__file__).parent / "explained.txt")}
"""Why a fault, by definition and wrong line, is harmless: it is printed apart and not counted in the rate."""


def drawn_faults(room: str, files: Sequence[str], number: int, seed: int) -> list[Fault]:
    """`number` faults of these files, or all that there are."""
    draw = random.Random(f"{seed} {room}")
    waiting = {file: list(_faults(file)) for file in files}
    for made in waiting.values():
        draw.shuffle(made)
    found: list[Fault] = []
    while len(found) < number and any(waiting.values()):
        found += [made.pop() for made in waiting.values() if made]
    return found[:number]


def _faults(file: str) -> Iterator[Fault]:
    """Every change of one file that leaves a program."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (SOURCE / file).read_text()
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        for occurrence in count():
            text = mutate_code(source, operator, occurrence)
            if text is None:
                break
            try:
                compile(text, file, "exec")
            except (SyntaxError, ValueError):
                continue
            made = Fault(file=file, where=definition_of(file, text), text=text, words=f"{name}, place {occurrence}")
            if not made.line.startswith(WITHOUT_EFFECT):
                yield made
