from dpqr.kernel.accountants.known import ACCOUNTANTS, PREDICTING
from dpqr.strategies import known


def test_each_is_known_by_its_own_name_in_a_fixed_order():
    assert list(ACCOUNTANTS) == ["basic", "advanced", "optimal", "zcdp", "gdp", "pld"]
    assert all(accountant.name == name for name, accountant in ACCOUNTANTS.items())


def test_predictions_have_one_more():
    assert list(PREDICTING) == ["basic", "advanced", "optimal", "zcdp", "pld", "analytic", "gdp"]
    assert PREDICTING["analytic"].name == "analytic"


def test_the_registry_of_strategies_offers_the_same_ones():
    assert [entry.name for entry in known.ACCOUNTANTS.entries() if entry.origin == "dpqr"] == list(ACCOUNTANTS)
    assert all(known.ACCOUNTANTS.load(name) is type(accountant) for name, accountant in ACCOUNTANTS.items())


def test_pld_is_used_where_it_is_named_only():
    assert known.ACCOUNTANTS.offered == ("basic", "advanced", "optimal", "zcdp", "gdp")
    assert known.CHECKS.offered == tuple(known.CHECKS.builtins)
