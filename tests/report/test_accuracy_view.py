from printed import printed

from dpqr.evaluation.accuracy import Accuracy, BlockError
from dpqr.report.accuracy_view import accuracy_view

BLOCKS = tuple(
    BlockError(name=name, queries=12, l1=l1, l2=l1 / 2, largest=1.5, worst=0, missing=missing)
    for name, l1, missing in (("far", 250.0, 1), ("near", 10.0, 0))
)
SHOWN = """\
Mind.

over n = 1,000, 2 blocks: mean L1 0.13, mean L2 0.065, largest error of an answer 0.0015; 1 answer
missing, taken for 0

block  queries   L1   L2  largest  L1 / n  L2 / n  largest / n
far         12  250  125      1.5    0.25   0.125       0.0015
... and 1 more block of smaller L1 error: --top N shows more
"""


def test_the_worst_blocks_and_how_many_there_are_more():
    assert printed(accuracy_view(Accuracy(records=1000, blocks=BLOCKS), 1, "Mind.")) == SHOWN
    whole = printed(accuracy_view(Accuracy(records=1000, blocks=BLOCKS), 2, "Mind."))
    assert whole.splitlines()[-1].startswith("near")
