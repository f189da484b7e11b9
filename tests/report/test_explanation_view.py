from fractions import Fraction

from support.plain_screen import printed

from dpqr.report.forecast import explanation_view
from dpqr.strategies.explanation import Explanation, RuleBounds, ScheduleForecast

FORECASTS = (
    ScheduleForecast(name="strategy", use="for prefixes", noise=9.61, error=6.52),
    ScheduleForecast(name="queries", use="for single queries", rounds=60, noise=189.4),
    ScheduleForecast(name="theory", use="for a bound", rounds=1, noise=461.2, alpha=0.8224),
    ScheduleForecast(name="rounds", use="for marginals", refusal="too many cells"),
)
HALF = Fraction(1, 2)
RULES = (
    RuleBounds(name="weights", use="for all", mistakes={"printed": 1234, "sharp": 56}, alphas={"sharp": HALF}, bytes=9),
    RuleBounds(
        name="perceptron", use="for few", mistakes={"printed": 7}, unlike={"printed": 5, "sharp": None}, bytes=8
    ),
    RuleBounds(name="median", use="for a dozen", mistakes={"printed": None}, refusal="5 cells are too many"),
)


def told(rules=RULES, n=100_000):
    return Explanation(
        cells=1024,
        queries=3,
        blocks=1,
        n=n,
        chosen="strategy",
        reason="--schedule auto: strategy, for it is ordered",
        schedules=FORECASTS,
        alpha=HALF,
        rules=rules,
    )


def test_everything_is_said() -> None:
    assert (
        printed(explanation_view(told()), width=160)
        == """\
Universe      1,024 cells
Workload      3 queries in 1 block
Records       100,000, as declared
auto takes    strategy: for it is ordered

--schedule    for this budget
  strategy    for prefixes
              noise typically 9.61 on a measured answer; mean error 6.52 of an answer, in records
  queries     for single queries
              60 rounds, noise typically 189 on a measured answer; `dpqr plan --schedule queries` forecasts the error
  theory      for a bound
              at most 1 round, noise typically 461 on a measured answer; no answer off by more than 0.822 n
  rounds      for marginals
              not here: too many cells

--update      longest update sequence T(alpha / 2) at alpha 0.5, on these cells and queries
  weights     for all
              T: 1,234 printed, 56 sharp; 9 bytes
              smallest alpha that one fixed plan of theory promises with it: 0.5 sharp
  perceptron  for few
              T: 7 printed; 8 bytes
              were no two records alike: 5 printed; nothing public tells it, so theory does not use it
  median      for a dozen
              no bound is proved; not here: 5 cells are too many

theory        promises most with --update weights --variant sharp: alpha 0.5
              --variant anytime, the default, is certain of about as much, and on most tables certifies far less error
"""
    )


def test_no_bound_at_this_alpha_is_not_no_bound() -> None:
    rule = RuleBounds(name="median", use="for a dozen", mistakes={"printed": None}, alphas={"printed": HALF}, bytes=9)
    assert "no bound is proved at this alpha; 9 bytes\n" in printed(explanation_view(told(rules=(rule,))), width=160)


def test_nothing_is_promised_without_a_number_of_records() -> None:
    text = printed(explanation_view(told(rules=RULES[1:], n=None)), width=160)
    assert "Records       not declared; --n N tells what depends on it\n" in text
    assert text.endswith("theory        promises nothing here\n")
