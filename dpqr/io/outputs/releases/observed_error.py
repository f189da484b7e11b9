"""Observed error: the mean error of a published release, from the noisy errors that it has bought."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpqr.construction.block_errors import NoisyError
from dpqr.construction.forecasts.forecast import Expected, reaches
from dpqr.io.outputs.records.plan_document import plan_document
from dpqr.privacy.budget import upward_text
from dpqr.strategies.plan import Plan

SAME = ("unit", "budget", "workload", "schedule", "distinguisher", "check", "update")
"""Parts that two plans have to share, so that the error of one is to be expected of the other."""


def published_epsilon(record: dict[str, Any]) -> str | None:
    """Of a release's record, as it can be typed; None where the record states none."""
    try:
        return upward_text(Fraction(record["plan"]["budget"]["epsilon"]["exact"]))
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return None


def observed_error(record: dict[str, Any], plan: Plan, records: int) -> Expected | None:
    """The mean over the blocks of the L1 errors over n in a published release; deviation: of the noise in it.

    A block whose error was bought has that; the others, which were measured, have what refits predict.

    Args:
        record: release.json.
        plan: by which the release would be made today.
        records: that the release estimates, n.

    Returns:
        None where no error was bought, or the release had another plan (`SAME`).
    """
    today, blocks = plan_document(plan), plan.problem.workload.blocks
    weights = 1 / reaches(plan) / len(blocks) / max(records, 1)
    weight = dict(zip((block.name for block in blocks), weights.tolist(), strict=True))
    try:
        if any(record["plan"][part] != today[part] for part in SAME):
            return None
        groups = _bought(record["errors"], plan)
        errors = record["error_bars"]["predicted"] | {name: one.value for each in groups for name, one in each.items()}
        mean = float(sum(weight[block.name] * errors[block.name] for block in blocks))
        noise = (sum(weight[name] * one.deviation for name, one in each.items()) for each in groups)
        found = Expected(mean=mean, deviation=math.hypot(*noise))
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return None
    return found if math.isfinite(found.mean) and math.isfinite(found.deviation) else None


def _bought(part: dict[str, Any], plan: Plan) -> list[dict[str, NoisyError]]:
    """The errors of each group of blocks that share one draw, by the block's name."""
    blocks = {block.name: block for block in plan.problem.workload.blocks}
    (draw,) = (one for one in part["draws"] if one["of"] == "sum")
    deviation = float(draw["law"]["deviation"])
    return [
        {name: NoisyError.of(blocks[name], part["units"][name], value, deviation, len(names)) for name in names}
        for names, value in zip(draw["groups"], draw["values"], strict=True)
    ]
