"""What this build knows and claims: its strategies, its guide, and an attack on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Unpack

from dpqr.kernel.errors import UsageFault
from dpqr.python.checks import Document, Figure, boolean, integer, run_sanitised, texts
from dpqr.python.options import PlanOptions
from dpqr.python.requests import plan_request

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.audit.run import Audit, Finding


class Page(str):
    """Markdown, which a notebook renders.

    >>> guide("python").splitlines()[0][:9], guide(search="docker").split(": ")[:2]
    ('# python:', ['ci', 'In a container'])
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return str(self)


def guide(topic: str | None = None, *, search: str | None = None) -> Page:
    """A topic of the guide; None: the list of all topics, a line each, those for reference last.

    Args:
        search: in place of the text, the sections of the topic, or of all, that hold these words or synonyms, best
            first, each with its best line.

    Raises:
        UsageFault: no such topic.
    """
    from dpqr.python.guide_search import search_guide
    from dpqr.report.guide import EVERY_TOPIC, read_topic, summary

    if search is not None:
        hits = search_guide(search, (topic,) if topic else EVERY_TOPIC)
        return Page("\n".join(f"{hit.topic}: {hit.heading}: {hit.line}" for hit in hits))
    if topic is not None:
        return Page(read_topic(topic))
    return Page("\n".join(f"- {name}: {summary(name)}" for name in EVERY_TOPIC))


def list_strategies(
    *,
    queries: Document | None = None,
    eps: Figure | None = None,
    domain: Document | None = None,
    **options: Unpack[PlanOptions],
) -> pd.DataFrame:
    """The strategies that options can name, and what each is for; with `queries` and `eps`, what it is worth there.

    Args:
        queries, eps, domain: as of `dpqr.plan`: `dpqr strategies --explain`. No table is opened.
        options: of a plan: `delta`, `neighbours`, `n` and `alpha` count.

    Returns:
        One row a strategy: `role`, `name`, `what`, `use`, `origin`. Explained, one row a schedule or update rule:
        `role`, `name`, `use`, `chosen` (by `auto`), `rounds`, `noise_deviation` (in records), `alpha` (the
        smallest that `theory` promises), `mistakes` (the longest update sequence at the alpha that was asked for),
        `refusal`; what does not apply is missing.

    Raises:
        UsageFault: one of `queries` and `eps` without the other.
    """
    import pandas as pd

    from dpqr.releases.forecast.explain import explain, explanation_rows

    if queries is None and eps is None and domain is None and not options:
        return pd.DataFrame(strategy_rows())
    if queries is None or eps is None:
        raise UsageFault(f"--explain needs --{'queries' if queries is None else 'eps'}; give it, or nothing")
    request = plan_request(queries, eps, domain, options)
    return pd.DataFrame(explanation_rows(run_sanitised(lambda: explain(request))))


def run_audit(
    cases: str | Sequence[str] = (),
    *,
    runs: int | None = None,
    short: bool = False,
    done: Callable[[Finding, int, int], None] | None = None,
) -> Audit:
    """Attack this build's mechanisms and whole releases on made-up neighbouring databases.

    Args:
        cases: names, in which * stands for anything; none: all.
        runs: on each database of a case; None: as the command line chooses.
        short: 1800 runs a case, or what a case states.
        done: is called with what was found last, and how many of how many cases are done.

    Returns:
        `breaches`, `findings`, and `document()` for JSON. `require_sound()` raises GoalMissed for a refuted claim.

    Raises:
        UsageFault: no such case.
    """
    from dpqr.audit.run import RUNS, SHORT_RUNS, audit, select_cases

    chosen = select_cases(texts("cases", cases))
    if boolean("short", short) and runs is not None:
        raise UsageFault("--short and --runs exclude each other; give one of them")
    count = integer("runs", runs) if runs is not None else SHORT_RUNS if short else RUNS
    return audit(chosen, count, short=short, done=done)


def strategy_rows() -> list[dict[str, str]]:
    """One entry a strategy: role, name, what it is, what its use is, and its origin.

    Foreign code is not imported for a listing: its entry says where it is instead.
    """
    from dpqr.kernel.plugins import HOUSE
    from dpqr.prediction.problem import LEARNERS, LOSSES
    from dpqr.strategies.known import ROLES

    rows = []
    for registry in (*ROLES, LOSSES, LEARNERS):
        for entry in registry.entries():
            if entry.origin == HOUSE:
                known = registry.builtins[entry.name]
                what, use = known.summary, known.use
            else:
                what = entry.target
                use = f"runs with --trust {entry.name} only, for its code would run where the private data is"
            rows.append({"role": registry.role, "name": entry.name, "what": what, "use": use, "origin": entry.origin})
    return rows
