"""The budget bar: earlier releases, this one, later ones, and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpqr.privacy.budget import downward_text, upward_text
from dpqr.report.page.drawing import FAINT, FILL, PALE, SECOND, drawn, panel
from dpqr.report.page.parts import Chart
from dpqr.report.page.reported import Spending

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def budget_chart(spending: Spending) -> Chart | None:
    """One bar as long as the budget; None for a budget that counts two figures, which no bar adds up."""
    account = spending.account
    limit = float(account.terms.limit.amount)
    if account.terms.limit.delta or not limit:
        return None
    own = [float(charge.cost.amount) for charge in spending.charges if charge.own]
    others = float(account.spent.amount) - sum(own)
    shares = (("other releases", others / limit, PALE), ("this release", sum(own) / limit, FILL))
    free = float(account.left.amount) / limit

    def draw(figure: Figure) -> None:
        axes = panel(figure, 6, 6, 328, 26)
        start = 0.0
        for _, share, color in shares:
            axes.barh(0, share, left=start, color=color, height=1)
            start += share
        axes.barh(0, free, left=start, facecolor="none", edgecolor=FAINT, height=1, linewidth=1)
        axes.set_xlim(0, 1)
        axes.set_axis_off()
        words = (*shares, ("left", free, "none"))
        for place, (name, share, color) in enumerate(words):
            figure.text(
                6 / 340 + place * 0.34,
                0.13,
                "■" if color != "none" else "□",
                color=SECOND if color == "none" else color,
                fontsize=11,
            )
            figure.text(20 / 340 + place * 0.34, 0.13, f"{name} {share:.1%}")

    currency = account.terms.currency
    spent, left = currency.words(account.spent, upward_text), currency.words(account.left, downward_text)
    alt = (
        f"Budget bar: this release took {sum(own) / limit:.1%}, others {others / limit:.1%}; spent {spent}, left {left}"
    )
    return drawn(draw, height=58, alt=alt, salt="budget")
