"""The state that a schedule reaches by the rounds of a transcript, and the step that it takes from there."""

from functools import reduce


def reached(plan, transcript):
    return reduce(plan.schedule.after, transcript.rounds, plan.schedule.start(plan))


def next_step(plan, transcript):
    return plan.schedule.next(plan, reached(plan, transcript))
