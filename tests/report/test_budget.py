from __future__ import annotations

from fractions import Fraction

from rich.console import Console
from support.ledger_jobs import draws, terms
from support.plain_screen import printed

from dpqr.kernel.budget import Cost
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import Account, LedgerEntry
from dpqr.report.budget import account_view, accounts_view, history_view, repriced_view
from dpqr.tables.policy import Policy


def wide(view):
    console = Console(width=160, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(view)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().split("\n"))


def test_an_account_in_epsilon():
    account = Account(
        terms=terms(cap="1"), spent=Cost(Fraction(10, 3)), pending=Cost(Fraction(1, 3)), reservations=7, unsettled=1
    )
    prices = {"basic": Fraction(10, 3), "zcdp": None}
    assert wide(account_view(account, prices, Fraction(0))) == (
        "Dataset   survey (private)\n"
        "Budget    eps 5 for life; charged by basic, in epsilon\n"
        "Protects  one row of the table added or removed (the number of rows is private)\n"
        "Cap       epsilon 1 for one release\n"
        "Policy    built-in limits, no count column, no rule `fail`\n"
        "Spent     epsilon 3.33334 in 7 reservations\n"
        "          0.333334 of it in 1 reservation without a settlement, spent in full\n"
        "Left      epsilon 1.66666; the largest request that fits is --eps 1\n"
        "History   basic: eps 3.33334 at delta 0 (charged)\n"
        "          zcdp: no finite eps at delta 0, shown only"
    )


def test_an_account_in_rho():
    opened = terms(epsilon="2", delta="1e-6", accountant="zcdp")
    said = wide(account_view(Account(terms=opened, spent=opened.limit), {"zcdp": Fraction(2)}, Fraction(1, 10**6)))
    assert "Budget    (eps 2, delta 1e-6) for life, which is rho 0.0881526; charged by zcdp, in rho\n" in said
    assert "Left      rho 0; nothing more fits\n" in said
    assert "zcdp: eps 2 at delta 1e-6 (charged)" in said
    assert said.endswith(
        "other accountants: not shown; of a counter a person pays one release a level, which they do not add up"
    )


def test_a_budget_that_may_learn_says_whether_it_can_pay_for_labels():
    said = []
    for accountant in ("zcdp", "basic"):
        opened = terms(epsilon="2", delta="1e-6", accountant=accountant)
        opened = replace(opened, policy=replace(opened.policy, learning=True))
        said.append(wide(account_view(Account(terms=opened), {}, Fraction(1, 10**6))))
    assert "          bounds alone: labels have no price in rho; a budget of --accounting basic with a delta" in said[0]
    assert "bounds alone" not in said[1]


def test_an_empty_ledger_says_how_to_begin():
    assert "dpqr budget init" in wide(accounts_view([]))
    assert wide(accounts_view(["a", "b"])) == "a\n\nb"


def test_a_history_has_one_line_an_entry():
    reserve = LedgerEntry(
        number=2, kind="reserve", time="T", dataset="survey", cost=Cost(Fraction(1, 3)), events=draws("1/3")
    )
    entries = [
        LedgerEntry(number=0, kind="open", time="T", note="00ff"),
        LedgerEntry(number=1, kind="init", time="T", dataset="survey", terms=terms()),
        replace(reserve, note="release [bold]x[/bold] \x1b[31m"),
        LedgerEntry(number=4, kind="policy", time="T", dataset="survey", policy=Policy(records=9, counts="n")),
        replace(reserve, number=3, kind="settle", settles=2, cost=Cost(Fraction(0)), events=(), note="released"),
        replace(reserve, number=5, kind="reserve"),
        replace(reserve, number=6, kind="settle", settles=5, events=(), note="released"),
    ]
    assert wide(history_view(entries)).split("\n") == [
        "number  time  entry    dataset              cost  note",
        "     0  T     open                                00ff",
        "     1  T     init     survey",
        r"     2  T     reserve  survey   epsilon 0.333334  release [bold]x[/bold] \x1b[31m",
        "     4  T     policy   survey                     max-records 9, counts in column 'n', no rule `fail`",
        "     3  T     settle   survey          epsilon 0  settles 2: released",
        "     5  T     reserve  survey   epsilon 0.333334",
        "     6  T     settle   survey        as reserved  settles 5: released",
    ]


# Old prices beside those of today, as text.


def test_a_line_an_accountant():
    before, now = {"basic": Fraction(1), "zcdp": None}, {"basic": Fraction(1), "zcdp": Fraction(1, 3), "pld": None}
    shown = printed(repriced_view("0.1.0", "basic", before, now, (Fraction(0), Fraction(1, 10**9))))
    assert shown.splitlines()[:4] == [
        "accountant       dpqr 0.1.0, delta 0  today, delta 1e-9",
        "basic (charged)                eps 1              eps 1",
        "zcdp                     not covered       eps 0.333334",
        "pld                        not known        not covered",
    ]
