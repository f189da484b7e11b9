"""Faults that a tool makes: an operator, a comparison, a number or a condition of the source is changed.

cosmic-ray knows the changes; which of them are tried is drawn from a public seed, evenly over the files of a room.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import count

from faults.anchored import definition_of
from faults.fault import SOURCE, Fault
from faults.runner import Trial

OPERATORS = (
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBinaryOperator_Mul_Div",
    "ReplaceBinaryOperator_Div_Mul",
    "ReplaceBinaryOperator_Pow_Mul",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_Lt_GtE",
    "ReplaceComparisonOperator_LtE_Gt",
    "ReplaceComparisonOperator_Gt_LtE",
    "ReplaceComparisonOperator_GtE_Lt",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceUnaryOperator_USub_Not",
    "ReplaceUnaryOperator_Delete_Not",
    "NumberReplacer",
    "ZeroIterationForLoop",
)

WITHOUT_EFFECT = ("@dataclass", "@lru_cache")
"""Lines whose options change neither an answer nor a price."""


def drawn_faults(room: str, files: Sequence[str], number: int, seed: int) -> list[Trial]:
    """`number` faults of these files, or all that there are."""
    draw = random.Random(f"{seed} {room}")
    waiting = {file: list(_faults(file)) for file in files}
    for made in waiting.values():
        draw.shuffle(made)
    found: list[Fault] = []
    while len(found) < number and any(waiting.values()):
        for made in waiting.values():
            if made:
                found.append(made.pop())
    return [Trial(room=room, where=definition_of(fault), fault=fault) for fault in found[:number]]


def _faults(file: str) -> Iterator[Fault]:
    """Every change of one file that leaves a program."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (SOURCE / file).read_text()
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        for occurrence in count():
            changed = mutate_code(source, operator, occurrence)
            if changed is None:
                break
            line = Fault(file=file, text=changed, words="").line
            if _compiles(changed) and not line.startswith(WITHOUT_EFFECT):
                yield Fault(file=file, text=changed, words=f"{name}, place {occurrence}: {line}")


def _compiles(text: str) -> bool:
    try:
        compile(text, "fault", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
