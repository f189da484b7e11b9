import pytest
from support.plain_screen import printed

from dpqr.releases.answers.answered import answered_block
from dpqr.report.release import FORMS, stored_block_view, stored_run_view


def test_the_receipt_and_the_queries_by_name():
    asked = [("a query", 1200, ("sex", "age")), ("all\x1b[0m", 1, ())]
    assert printed(stored_run_view([("Guarantee", "much")], asked)) == (
        "Guarantee  much\n\nquery       answers  columns\na query       1,200  sex, age\nall\\x1b[0m        1\n"
    )


def test_predictions_answer_no_queries():
    assert printed(stored_run_view([("Guarantee", "much")], [])) == "Guarantee  much\n"


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_headed_by_the_block(release, form):
    block = answered_block(release.answers[0], release.plan.problem.domain)
    lines = printed(stored_block_view(block, form, 9), 80).splitlines()
    assert lines[0] == "sex by age: 9 answers"
    assert len(lines) > 4


def test_a_proved_bound_stands_under_the_name_of_its_block(release):
    block = answered_block(release.answers[0], release.plan.problem.domain)
    lines = printed(stored_block_view(block, "table", 9, (123.4567, 0.95)), 80).splitlines()
    assert lines[1] == "L1 error of all its estimates: at most 123.5, with probability at least 0.95"
