"""Run the audit: the chosen cases in several processes, each attacked once, under one alarm for all of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from difflib import get_close_matches
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import lru_cache
from multiprocessing import get_context

from msgspec import Struct

from dpqr.audit.attack import LossLowerBound, attack
from dpqr.audit.case import AuditedCase, Claim, Outcomes
from dpqr.audit.cases.counters import counter_cases, history_cases, period_cases
from dpqr.audit.cases.files import file_cases
from dpqr.audit.cases.filters import filter_cases, sparse_vector_cases
from dpqr.audit.cases.learned_labels import label_cases
from dpqr.audit.cases.noisy_answers import answer_cases, dropped_cases, error_cases
from dpqr.audit.cases.persons import cell_cases, person_cases
from dpqr.audit.cases.predictions import function_cases, predict_cases, vote_cases
from dpqr.audit.cases.releases import partition_cases, release_cases, schedule_cases
from dpqr.audit.cases.selections import choice_cases, search_cases
from dpqr.kernel.budget import upward
from dpqr.kernel.errors import GoalMissed, UsageFault
from dpqr.kernel.noise.source import NoiseSource, SystemNoise

ALARM = Fraction(1, 10**6)
"""Probability, at most, that an audit reports any breach of a build that keeps all its claims."""
RUNS = 100_000
SHORT_RUNS = 1_800
FEWEST_RUNS = 100
CHUNK = 5_000
"""Runs that one worker makes at a time, at most."""
PARTS = 6
"""Parts, at least, in which a side's runs are made: at the end no worker waits long for another's last part."""


class Finding(Struct, frozen=True, kw_only=True):
    """One case: what it claims, and what was proved against it."""

    name: str
    what: str
    claim: Claim
    loss: LossLowerBound

    def document(self) -> dict[str, object]:
        """Plain JSON values; claims rounded up, `shown` figures are lower bounds."""
        claim, loss = self.claim, self.loss
        return {
            "case": self.name,
            "what": self.what,
            "claim": {
                "epsilon": upward(claim.epsilon),
                "delta": float(claim.delta),
                "rho": None if claim.rho is None else upward(claim.rho),
            },
            "shown": {"epsilon": loss.epsilon, "rho": loss.rho},
            "share": loss.share,
            "stated_law": {"share": loss.stated, "against": loss.narrow},
            "breach": loss.breach,
        }


Done = Callable[[Finding, int, int], None]
"""Receives what was found last, and how many of how many cases are done."""


class Audit(Struct, frozen=True, kw_only=True):
    """All findings. runs: as asked for, on each of a case's two databases (fewer where a run takes long, and what a
    case states in a short audit); half of them chose the events, half tested them."""

    runs: int
    findings: tuple[Finding, ...]
    private: bool

    @property
    def breaches(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.loss.breach)

    def document(self) -> dict[str, object]:
        """Plain JSON values."""
        return {
            "runs": self.runs,
            "false_alarm": float(ALARM),
            "system_noise": self.private,
            "breaches": [finding.name for finding in self.breaches],
            "cases": [finding.document() for finding in self.findings],
        }

    def require_sound(self) -> None:
        """GoalMissed if any claim was refuted."""
        if self.breaches:
            names = ", ".join(finding.name for finding in self.breaches)
            raise GoalMissed(
                f"the audit refuted what this build claims of {names}; release nothing with it, and report this "
                f"(a sound build fails so with probability {float(ALARM):g} at most)"
            )


@lru_cache
def cases_by_name() -> dict[str, AuditedCase]:
    """Every case by its name, in the order in which they are shown."""
    releases = [*release_cases(), *partition_cases(), *schedule_cases(), *search_cases()]
    drawn: list[AuditedCase] = [
        *choice_cases(),
        *answer_cases(),
        *dropped_cases(),
        *person_cases(),
        *counter_cases(),
        *history_cases(),
        *cell_cases(),
        *period_cases(),
        *error_cases(),
        *filter_cases(),
        *sparse_vector_cases(),
        *label_cases(),
    ]
    predicted = [*vote_cases(), *predict_cases(), *function_cases()]
    found: list[AuditedCase] = [*drawn, *releases, *predicted, *file_cases()]
    return {case.name: case for case in found}


def select_cases(patterns: Sequence[str]) -> tuple[AuditedCase, ...]:
    """The cases that any of the patterns names (`*` stands for anything); no pattern: all of them."""
    known = cases_by_name()
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            near = get_close_matches(pattern, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "dpqr audit --list names them all"
            raise UsageFault(f"--case {pattern!r}: there is no such case; {hint}")
    return tuple(
        case for name, case in known.items() if not patterns or any(fnmatchcase(name, one) for one in patterns)
    )


def audit(
    cases: Sequence[AuditedCase],
    runs: int = RUNS,
    *,
    short: bool = False,
    noise: NoiseSource | None = None,
    done: Done | None = None,
) -> Audit:
    """Attack every case with `runs` runs on each of its two databases, or `runs` over its `work`.

    short: each case gets the runs that show its faults, `runs` where it states none.
    noise: the operating system's, on all processors, unless a test passes another. The cases are then taken from
    `cases_by_name` by their names.

    False alarms: each case may raise one with probability ALARM / cases at most, so all of them with ALARM.
    """
    if runs < FEWEST_RUNS:
        raise UsageFault(f"--runs {runs}: at least {FEWEST_RUNS} runs are needed to show anything")
    longest_first = sorted(cases, key=lambda case: -case.work)
    # How many runs this case gets.
    shares = [case.brief if short and case.brief else max(FEWEST_RUNS, runs // case.work) for case in longest_first]
    pairs = zip(longest_first, shares, strict=True)
    sampled: Sampled
    if noise:
        sampled = ((case.outcomes(0, own, noise), case.outcomes(1, own, noise)) for case, own in pairs)
    else:
        sampled = _together(pairs)
    alarm = float(ALARM) / max(len(cases), 1)
    found = dict[str, Finding]()
    for case, (one, two) in zip(longest_first, sampled, strict=True):
        claim = case.claim
        loss = attack(one, two, claim, alarm, case.laws)
        found[case.name] = Finding(name=case.name, what=case.what, claim=claim, loss=loss)
        if done:
            done(found[case.name], len(found), len(cases))
    findings = tuple(found[case.name] for case in cases)
    return Audit(runs=runs, findings=findings, private=noise.private if noise else True)


Sampled = Iterator[tuple[Outcomes, Outcomes]]


def _together(shares: Iterable[tuple[AuditedCase, int]]) -> Sampled:
    """So many outcomes of each case on both sides, in several processes.

    The processes start from nothing and share no state, least of all of a generator. An interrupt is this process's to
    handle: a worker ends with its current part. There is one worker more than processors, because cases with files wait
    for the disk.
    """
    deaf, workers = (signal.SIGINT, signal.SIG_IGN), (os.cpu_count() or 1) + 1
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=signal.signal, initargs=deaf) as pool:
        waiting: list[list[list[Future[Outcomes]]]] = []
        for case, runs in shares:
            most = min(CHUNK, -(-runs // PARTS))
            sizes = [min(most, runs - start) for start in range(0, runs, most)]
            waiting.append([[pool.submit(_sample, case.name, side, size) for size in sizes] for side in (0, 1)])
        waiting.reverse()
        try:
            while waiting:
                one, two = (Outcomes.joined(part.result() for part in side) for side in waiting.pop())
                yield one, two
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _sample(name: str, side: int, runs: int) -> Outcomes:
    """What a worker does."""
    return cases_by_name()[name].outcomes(side, runs, SystemNoise())
