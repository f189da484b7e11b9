"""Missing error: what a forecast on an earlier release's synthetic rows leaves out.

The rows hold nothing of the structure that the earlier release's noise hid, so they are easier to answer than the
table. The earlier release has bought noisy errors of its answers; how far these lie above a simulated release of its
rows, by the same plan, is what the rows leave out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dpqr.construction.forecasts.forecast import Expected, Forecast

UNKNOWN = (
    "these rows lack what {name} has not measured, so the forecast may be too low; how much is not known, for {name} "
    "has bought no errors by this plan (queries, unit, delta, schedule)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingError:
    """Of the mean L1 error over n.

    excess: of the earlier release, over a simulation on its rows, as far as noise does not explain it.
    observed, simulated: both errors. precision: epsilon times n of the earlier release: noise over n falls in inverse
    proportion to it.

    >>> excess = Expected(mean=0.1, deviation=0.0)
    >>> half = MissingError(excess=excess, observed=0.3, simulated=0.2, precision=1000.0).at(2000.0)
    >>> round(half.mean, 3), round(half.deviation, 3)
    (0.075, 0.014)
    """

    excess: Expected
    observed: float
    simulated: float
    precision: float

    @classmethod
    def of(cls, observed: Expected, simulated: Forecast) -> MissingError:
        """The posterior of the excess under a normal law around 0 whose spread is estimated from the excess itself
        (empirical Bayes). 0 where it is negative, or within one deviation of its noise.

        Args:
            observed: the earlier release's mean L1 error over n; deviation: of the noise in it.
            simulated: the forecast on the earlier release's rows, by its plan.
        """
        gap = max(0.0, observed.mean - simulated.over_n.mean)
        noise = observed.deviation**2 + simulated.over_n.deviation**2 * (1 + 1 / simulated.runs)
        kept = max(0.0, 1.0 - noise / gap**2) if gap else 0.0
        excess = Expected(mean=kept * gap, deviation=math.sqrt(kept * noise))
        return cls(
            excess=excess,
            observed=observed.mean,
            simulated=simulated.over_n.mean,
            precision=_precision(simulated),
        )

    def words(self, name: str) -> str:
        """name: of the earlier release."""
        return (
            f"{name} had an L1 error of {self.observed:.3g} n by the errors that it has bought, and "
            f"{self.simulated:.3g} n by simulation; the part that noise does not explain, {self.excess.mean:.3g} n, is "
            "what its rows leave out, and counts here"
        )

    def at(self, precision: float) -> Expected:
        """What a release of that epsilon times n misses of what the earlier one missed.

        All of it where its noise is as large. Where its noise is smaller, structure that the larger noise hid may be
        found: what is missed lies between all and the share by which the noise falls, taken as uniform between both.
        """
        least = min(1.0, self.precision / precision)
        part, doubt = (1 + least) / 2, (1 - least) / math.sqrt(12)
        deviation = math.hypot(self.excess.deviation * part, self.excess.mean * doubt)
        return Expected(mean=self.excess.mean * part, deviation=deviation)

    def added(self, found: Forecast) -> Forecast:
        """The forecast on the same rows at another budget, with what they leave out; all blocks grow alike. Without
        any error there is none to scale."""
        missed, over = self.at(_precision(found)), found.over_n.mean
        if over == 0.0:
            return found
        more, spread = missed.mean / over, missed.deviation / over

        def grown(error: Expected) -> Expected:
            deviation = math.hypot(error.deviation * (1 + more), error.mean * spread)
            return Expected(mean=error.mean * (1 + more), deviation=deviation)

        blocks = tuple(replace(block, error=grown(block.error)) for block in found.blocks)
        return replace(found, blocks=blocks, error=grown(found.error), over_n=grown(found.over_n))


def _precision(found: Forecast) -> float:
    return float(found.epsilon) * max(found.records, 1)
