"""The variants of `--schedule theory` by name."""

from __future__ import annotations

from typing import Literal, get_args

from dpqr.strategies.problem import Variant
from dpqr.strategies.schedules.theory.anytime import Anytime
from dpqr.strategies.schedules.theory.schedule import Theory

VARIANTS: tuple[str, ...] = ("anytime", *get_args(Variant))


def theory(*, variant: Variant | Literal["anytime"] = "anytime") -> Anytime | Theory:
    """The loop in stages, or as one fixed plan with the printed or the sharp constants.

    >>> theory().adaptive, theory(variant="printed").adaptive
    (True, False)
    """
    return Anytime() if variant == "anytime" else Theory(variant=variant)
