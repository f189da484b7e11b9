"""The built-in accountants by name, in the order of reports."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dpqr.kernel.accountants.accountant import Accountant
from dpqr.kernel.accountants.analytic import Analytic, GaussianDP
from dpqr.kernel.accountants.by_count import ByCount
from dpqr.kernel.accountants.fixed_schedules import Advanced, Optimal
from dpqr.kernel.accountants.pld import PrivacyLossDistribution, has_dp_accounting
from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated


def _named(*accountants: Accountant) -> Mapping[str, Accountant]:
    return MappingProxyType({accountant.name: accountant for accountant in accountants})


_FIRST = (Basic(), Advanced(), Optimal(), ZeroConcentrated())
ACCOUNTANTS = _named(*_FIRST, GaussianDP(), PrivacyLossDistribution())
PREDICTING = _named(*_FIRST, PrivacyLossDistribution(), Analytic(), GaussianDP())
"""Accountants of predictions and released functions."""

RELEASING = _named(*PREDICTING.values(), ByCount())
"""All that may charge a run."""


def available(accountants: Mapping[str, Accountant] = ACCOUNTANTS) -> Mapping[str, Accountant]:
    """Return the accountants whose packages are installed."""
    return accountants if has_dp_accounting() else {name: one for name, one in accountants.items() if name != "pld"}
