from dataclasses import replace

from support.plain_screen import printed

from dpqr.construction.answered import answered
from dpqr.report.answers_view import answers_view, block_view

ANSWERS = """\
query        cells                     estimate  measured  noise  lower  upper
sex by age   sex=F, age=[0, 20)               5        -4  +-7.1    -19     11
"""


def blocks(release):
    return [answered(each, release.plan.problem.domain) for each in release.answers]


def test_print(release):
    print(printed(answers_view(blocks(release)), 80))
    for b in blocks(release):
        print(printed(block_view(b, 3), 40))
