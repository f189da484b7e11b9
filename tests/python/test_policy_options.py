import pytest

from dpqr.kernel.errors import UsageFault
from dpqr.ledger.budgets import PeriodRequest
from dpqr.python.ledger import budget_fields, policy_fields


def test_options_have_the_names_of_the_fields():
    given = {"max_records": 5, "require_approval": True, "delimiter": None}
    assert policy_fields(given) == {"records": 5, "approval": True}
    with pytest.raises(UsageFault):
        policy_fields({"require_approval": "yes"})


def test_a_budget_is_divided_by_a_kind_a_column_and_a_share():
    whole = {"period": "month", "period_column": "day", "per_period": "0.1"}
    asked = PeriodRequest(every="month", column="day", epsilon="0.1", first="2026-01")
    assert budget_fields({**whole, "first": "2026-01", "max_records": 9}) == ({"records": 9}, asked)
    assert budget_fields({"max_records": 9, "period": None}) == ({"records": 9}, None)
    for name in whole:
        with pytest.raises(UsageFault, match=f"--{name.replace('_', '-')}: is missing"):
            budget_fields({key: value for key, value in whole.items() if key != name} | {"first": "2026-01"})
    with pytest.raises(UsageFault, match="period"):
        budget_fields({**whole, "period": "decade"})
