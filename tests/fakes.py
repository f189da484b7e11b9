"""Stand-ins for what a test does not mean to test."""

from dataclasses import dataclass, field

import numpy as np

from dpqr.privacy.events import PrivacyEvent
from dpqr.workload.block import QueryBlock


@dataclass
class OpenFilter:
    """Admits every charge and remembers it."""

    charged: list[PrivacyEvent] = field(default_factory=list)

    def charge(self, event: PrivacyEvent) -> int:
        self.charged.append(event)
        return len(self.charged)


@dataclass
class Says:
    """A hypothesis that answers each block by its name, in the block's own grid."""

    answers: dict[str, object]
    total: float = 0.0

    def answer(self, block: QueryBlock) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.answers[block.name], dtype=np.float64), (block.rows,))
