"""Replay of questions: the same answers from the noisy ones alone, process by process."""

import pytest
from releases.test_online import FIRST, LAST, query, session

from dpqr.kernel.errors import GoalMissed
from dpqr.releases.questions import HardQueryAnswer, Replay, Start

KNOWN = query([1, 1, 0, 0])


def replay(online, surprises):
    return Replay(terms=online.terms, problem=online.problem, rule=online.rule, surprises=surprises)


def asked(online, *blocks):
    """Answers of one process, and how it found its session."""
    start = Start(
        sides=tuple(online.watches), epochs=online.epochs, surprises=online.surprises, measured=len(online.history)
    )
    answers = [online.ask(block) for block in blocks]
    return start, [(block, answer.free) for block, answer in zip(blocks, answers, strict=True)], answers


@pytest.mark.parametrize("paid", [1, 2, 4])
def test_the_answers_of_every_process_come_again(paid):
    online = session(surprises=paid)
    first = asked(online, KNOWN, FIRST, KNOWN)
    online.hypothesis = online.rule.update(online.problem, online.rule.start_rows, online.history)  # a new process
    second = asked(online, KNOWN, LAST, FIRST)
    queries = [block for _, rows, _ in (first, second) for block, free in rows if not free]
    surprises = [
        HardQueryAnswer(side=1 if block is FIRST else -1, query=block, measured=measured)
        for block, measured in zip(queries, online.history, strict=True)
    ]
    again = replay(online, surprises)
    for start, rows, answers in (first, second):
        assert list(again.answers(start, rows)) == answers


def test_a_paid_answer_without_a_noisy_one_is_refused():
    online = session()
    start, rows, _ = asked(online, FIRST)
    other = HardQueryAnswer(side=1, query=LAST, measured=online.history[0])
    for surprises in ([], [other]):
        with pytest.raises(GoalMissed, match="no noisy answer"):
            list(replay(online, surprises).answers(start, rows))
