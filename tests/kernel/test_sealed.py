import copy
import dataclasses
import json
import operator
import pickle
import pprint
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.accountants.accountant import SumFilter, require_pure
from dpqr.kernel.accountants.known import available
from dpqr.kernel.accountants.losses import concentrated_rho
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import PermuteAndFlipEvent
from dpqr.kernel.exact import ExactEvent, PublicFilter
from dpqr.kernel.sealed import Private, ReleasedValue, SealKey

SECRET = "4242424242"

MISUSES = {
    "format": lambda p: f"{p}",
    "format method": lambda p: "{}".format(p),  # noqa: UP032
    "format with a width": lambda p: format(p, ">10"),
    "equal": lambda p: p == SECRET,
    "equal to itself": lambda p: p == p,
    "unequal": lambda p: p != SECRET,
    "compared from the left": lambda p: operator.eq(SECRET, p),
    "found in a list": lambda p: SECRET in [p],
    "less": lambda p: p < p,
    "hash": hash,
    "set": lambda p: {p},
    "key": lambda p: {p: 1},
    "bool": bool,
    "not": operator.not_,
    "if": lambda p: 1 if p else 0,
    "int": int,
    "float": float,
    "index": operator.index,
    "len": len,
    "iter": iter,
    "list": list,
    "item": lambda p: p[0],
    "contains": lambda p: SECRET in p,
    "add": lambda p: p + 1,
    "call": lambda p: p(),
    "bytes": bytes,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy in a list": lambda p: copy.deepcopy([p]),
    "replace": lambda p: copy.deepcopy({"a": (p,)}),
    "reduce": lambda p: p.__reduce__(),
    "state": lambda p: p.__getstate__(),
    "vars": vars,
    "asdict": lambda p: dataclasses.asdict(dataclasses.make_dataclass("Holder", ["held"])(p)),
    "asarray": np.asarray,
    "array of objects": lambda p: np.array([p]),
    "float array": lambda p: np.asarray(p, dtype=float),
    "sum": lambda p: np.sum(p),
    "ufunc": lambda p: np.add(p, 1),
    "json": json.dumps,
    "msgspec": msgspec.json.encode,
    "builtins": msgspec.to_builtins,
    "value": lambda p: p.value,
    "private name": lambda p: p.__value,
    "new attribute": lambda p: setattr(p, "seen", True),
    "unsealed without a key": lambda p: p._unseal(None),
    "unsealed with the key's class": lambda p: p._unseal(SealKey),
} | {
    f"pickle protocol {protocol}": lambda p, protocol=protocol: pickle.dumps(p, protocol)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
}


@in_one_test("misuse", MISUSES.values())
def test_misuse_is_an_error_that_tells_nothing(misuse):
    with pytest.raises((TypeError, AttributeError)) as error:
        misuse(Private(SECRET))
    assert SECRET not in str(error.value)
    assert "\n" not in str(error.value)


@in_one_test("show", [repr, str, ascii, lambda p: "%s %r" % (p, p), lambda p: pprint.pformat([p])])  # noqa: UP031
def test_showing_it_shows_the_seal(show):
    assert SECRET not in show(Private(SECRET))
    assert "Private(...)" in show(Private(SECRET))


def test_a_key_opens_it_and_no_public_name_does():
    held = [SECRET]
    assert Private(held)._unseal(SealKey()) is held
    assert [name for name in dir(Private(SECRET)) if not name.startswith("_")] == []


def test_a_released_value_is_plain_and_knows_what_paid():
    released = ReleasedValue(3, 7)
    assert (released.value, released.charge) == (3, 7)
    assert released == ReleasedValue(3, 7)
    with pytest.raises(dataclasses.FrozenInstanceError):
        released.value = 4


EXACT = ExactEvent().as_event


def test_public_data_is_seen_as_often_as_one_likes_and_no_draw_is_charged_there():
    public = PublicFilter()
    assert [public.charge(EXACT) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(BudgetRefused, match="no noisy draws"):
        public.charge(PermuteAndFlipEvent(epsilon=Fraction(1)))


def test_every_accountant_and_filter_refuses_an_exact_value():
    for accountant in available().values():
        with pytest.raises(BudgetRefused):
            accountant.epsilon(((EXACT, 1),), PrivacyBudget.parse("1", "1e-9").delta)
    for cost in (require_pure, concentrated_rho):
        with pytest.raises(BudgetRefused):
            SumFilter(limit=10**30, cost=cost, unit="epsilon").charge(EXACT)
