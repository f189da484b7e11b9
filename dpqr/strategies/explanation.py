"""Explanation: what every schedule and update rule is worth for a workload, its universe, n and a budget."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct, field

from dpqr.strategies.problem import Variant


class ScheduleForecast(Struct, frozen=True, kw_only=True):
    """What one schedule would do.

    Attributes:
        noise: typical standard deviation of a measured answer, in records.
        error: mean over the queries of their mean absolute errors, in records, where there is a closed form. Both are
            the figures of a dry run.
        alpha: the largest error over n that it promises (`theory`).
        refusal: why it cannot be taken; else empty.
    """

    name: str
    use: str
    rounds: int = 0
    noise: float | None = None
    error: float | None = None
    alpha: float | None = None
    refusal: str = ""


class RuleBounds(Struct, frozen=True, kw_only=True):
    """What one update rule is worth.

    Attributes:
        mistakes: its longest update sequence at the explanation's alpha, by whose constants; None: no bound is proved.
        unlike: what that would be if no two records were alike, for a rule that gains by it; None: n is not known.
        alphas: the smallest alpha that `theory` promises with it, by whose constants; where it promises any.
        bytes: of the hypothesis and its update, in rounds, or else under `theory`.
        refusal: why it can be taken in neither; else empty.
    """

    name: str
    use: str
    mistakes: dict[Variant, int | None]
    unlike: dict[Variant, int | None] = field(default_factory=dict)
    alphas: dict[Variant, Fraction] = field(default_factory=dict)
    bytes: int = 0
    refusal: str = ""


class Explanation(Struct, frozen=True, kw_only=True):
    """What every schedule and update rule is worth for a workload.

    Attributes:
        cells, queries, blocks: of universe and workload.
        n: records, where declared.
        chosen: the schedule of `auto`.
        reason: why it is chosen.
        alpha: at which the update sequences are given.

    >>> alphas = {"printed": Fraction(1, 5)}
    >>> rule = RuleBounds(name="median", use="small domains", mistakes={"printed": 7}, alphas=alphas)
    >>> explanation = Explanation(
    ...     cells=4,
    ...     queries=4,
    ...     blocks=1,
    ...     n=1000,
    ...     chosen="marginals",
    ...     reason="",
    ...     schedules=(ScheduleForecast(name="rounds", use="any workload", rounds=22),),
    ...     alpha=Fraction(1, 5),
    ...     rules=(rule,),
    ... )
    >>> explanation.best
    ('median', 'printed', Fraction(1, 5))
    """

    cells: int
    queries: int
    blocks: int
    n: int | None
    chosen: str
    reason: str
    schedules: tuple[ScheduleForecast, ...]
    alpha: Fraction
    rules: tuple[RuleBounds, ...]

    @property
    def best(self) -> tuple[str, Variant, Fraction] | None:
        """Update rule and constants of the smallest alpha that `theory` promises, and that alpha; None: no promise."""
        promises = [(alpha, rule.name, variant) for rule in self.rules for variant, alpha in rule.alphas.items()]
        if not promises:
            return None
        alpha, name, variant = min(promises, key=lambda promise: promise[0])
        return name, variant, alpha
