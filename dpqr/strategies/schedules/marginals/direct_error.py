"""The forecast error of plans without a search: every block is measured, or estimated without bias."""

from __future__ import annotations

import numpy as np

from dpqr.strategies.plan import BlockForecast, Plan
from dpqr.strategies.schedules.drafts import NORMAL
from dpqr.strategies.schedules.marginals.spread import Spread
from dpqr.strategies.schedules.marginals.ways import Noise, error_among, possible_records


def direct_error(plan: Plan, *, fitted: bool) -> float:
    """Forecast error among the possible records of a plan by which every block is measured, or estimated unbiased.

    Args:
        fitted: whether a fit cuts noise on cells of few records; else an answer is off by its noise, or by no more than
            even records would be.
    """
    known = zip(plan.problem.workload.blocks, plan.forecast, strict=True)
    each = [(_summed_sizes(one, fitted) / float(block.scale), block) for block, one in known]
    units = ((total / max(block.largest_coefficient, 1), Spread(block=block).even, 0.0) for total, block in each)
    noise, errors = Noise.of(units), []
    for records in possible_records(plan.problem):
        n = max(1.0, records)
        found = noise.errors(n, 1.0, 0.0) if fitted else np.minimum(NORMAL * noise.total / n, noise.even)
        errors.append(float(found.mean()))
    return error_among(errors)


def _summed_sizes(block: BlockForecast, fitted: bool) -> float:
    """Of a block's answers the deviations, or NORMAL times less than they are expected to be off, if that is known:
    nearly all noise of a large budget is 0, and its size is far below its deviation."""
    known = None if fitted else block.error
    return block.rows * (block.deviation if known is None else known / NORMAL)
