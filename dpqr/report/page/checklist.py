"""A checklist after the layers of NIST SP 800-226: what the release states, what dpqr checks, and what nobody checked.

References:
    Near, Darais, Lefkovitz, Howarth: Guidelines for Evaluating Differential Privacy Guarantees. NIST SP 800-226, 2025.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpqr.privacy.budget import upward_text
from dpqr.report.page.parts import Check, Checks, Section, State, Words
from dpqr.report.page.reported import Reported

LARGE, LARGE_DELTA = 3, Fraction(1, 10**6)
"""Figures from which on the checklist asks for a reason: a factor of 20, and a chance of one in a million."""


def checklist_section(found: Reported) -> Section:
    """The three layers, from the claim down to what it stands on."""
    words = (
        "Ordered after the layers of NIST SP 800-226: a claim at the top is worth no more than what lies below it. "
        "The marks say what this program has checked; it is no certificate of NIST."
    )
    return Section(
        name="checklist",
        title="Checklist, and hazards that were not checked",
        parts=(
            Words(text=words),
            Checks(layer="The claim: parameters and unit", lines=tuple(claim_checks(found))),
            Checks(layer="Below it: algorithms, accuracy and side channels", lines=tuple(_algorithms(found))),
            Checks(layer="What all of it stands on: trust, access and collection", lines=_GROUND),
        ),
    )


def claim_checks(found: Reported) -> Iterator[Check]:
    """Parameters and unit: what can be said of a plan, too."""
    budget = found.plan.get("budget")
    if budget is None:
        yield Check(asked="Epsilon and delta are stated", state="no", found="The record states no budget.")
        return
    epsilon, delta = (Fraction(budget[name]["exact"]) for name in ("epsilon", "delta"))
    size = "at most 3" if epsilon <= LARGE else "above 3, which needs a reason that this page does not give"
    yield _check("Epsilon is stated, exact, and small", epsilon <= LARGE, f"{upward_text(epsilon)}: {size}.")
    small = "a rare total failure is ruled out" if not delta else "it must be far below one over the number of rows"
    yield _check("Delta is 0 or tiny", delta <= LARGE_DELTA, f"{upward_text(delta)}; {small}.")
    yield _unit(found)
    yield _together(found)


def _check(asked: str, passed: bool, found: str) -> Check:
    return Check(asked=asked, state="yes" if passed else "part", found=found)


def _unit(found: Reported) -> Check:
    unit = found.plan.get("unit") or {}
    if unit.get("column"):
        text = f"Each {unit['column']}, with at most {unit['max_rows']} rows each; further rows were left out."
        return Check(asked="The unit of privacy is a person", state="yes", found=text)
    text = "Each row. Where one person has several rows, the protection of the person is weaker, by that many times."
    return Check(asked="The unit of privacy is a person", state="part", found=text)


def _together(found: Reported) -> Check:
    asked = "Releases of the same table are added up"
    if isinstance(found.record.get("ledger"), dict):
        text = "A ledger paid, and refuses what exceeds the table's budget. It knows of no release made without it."
        return Check(asked=asked, state="yes", found=text)
    return Check(asked=asked, state="no", found="No ledger was used: earlier or later releases are not counted.")


def _algorithms(found: Reported) -> Iterator[Check]:
    charged = (found.record.get("spent") or {}).get("charged", "the accountant")
    yield Check(
        asked="Every draw is charged before it is made",
        state="yes" if found.record.get("private", True) else "no",
        found=f"One gate opens the table, and takes the price by {charged} first; every event stands above.",
    )
    yield Check(
        asked="Noise is exact, and from a cryptographic source",
        state="yes" if found.record.get("private", True) else "no",
        found="Discrete noise of exact integers and rationals, by the operating system's randomness: no floating-point "
        "number decides a draw. dpqr audit attacks a build, and compares what is lost with what is claimed.",
    )
    yield Check(
        asked="Errors and bias are stated",
        state="part",
        found="Each answer has its error, where one is known. Estimates can be biased, more so for small groups, whose "
        "relative errors are the largest. Whether a group is treated unfairly by that was not checked.",
    )
    yield _left_out(found)
    yield Check(
        asked="Time, memory and machine reveal nothing",
        state="no",
        found="Not checked: how long a run takes and how much memory it uses may depend on the table. Do not let "
        "outsiders start runs and watch them, and keep the machine to yourself while it works.",
    )


def _left_out(found: Reported) -> Check:
    dropped = found.record.get("dropped")
    asked = "Rows that were left out are known"
    if not isinstance(dropped, dict):
        text = "They were not counted. Answers speak of the rows that the domain's rules kept."
        return Check(asked=asked, state="no", found=text)
    noise = dropped["law"]["deviation"]
    text = f"About {dropped['estimate']:,} (+-{noise:.3g}, noise) of {dropped['counts']}."
    return Check(asked=asked, state="yes", found=text[0].upper() + text[1:])


_STANDS: tuple[tuple[str, State, str], ...] = (
    (
        "Trust model",
        "part",
        "Central: whoever runs the program sees the table. The promise is towards readers of the release, not "
        "towards the curator.",
    ),
    (
        "Domain, rules and queries come from public knowledge",
        "no",
        "Not checked: the program reads no value for them, but cannot know whether a person has looked at the "
        "table to write them.",
    ),
    (
        "Access to the table, its copies and its machine",
        "no",
        "Not checked: access control, encryption, logs and backups are the curator's.",
    ),
    (
        "Collection and consent",
        "no",
        "Not checked: what was collected, for which purpose, and how long it is kept; differential privacy "
        "protects nothing before it.",
    ),
    (
        "One person is one unit",
        "no",
        "Not checked: people who appear under several identities, households, and copies of the table elsewhere.",
    ),
    (
        "Other publications from the same table",
        "no",
        "Not checked: anything published without differential privacy is outside of every budget.",
    ),
)
_GROUND = tuple(Check(asked=asked, state=state, found=text) for asked, state, text in _STANDS)
