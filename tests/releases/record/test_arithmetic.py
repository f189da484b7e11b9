"""The fingerprint of arithmetic: the same again, another one where sums are added up otherwise."""

import pytest

from dpqr.releases.record import parts as module
from dpqr.releases.record.parts import THREADS, arithmetic


@pytest.fixture
def fresh():
    arithmetic.cache_clear()
    yield
    arithmetic.cache_clear()


def test_it_is_the_same_each_time(fresh):
    first = arithmetic()
    arithmetic.cache_clear()
    assert arithmetic() == first
    assert len(first) == 16


@pytest.mark.parametrize("name", THREADS)
def test_settings_of_threads_and_kernels_count(fresh, monkeypatch, name):
    first = arithmetic()
    arithmetic.cache_clear()
    monkeypatch.setenv(name, "7")
    assert arithmetic() != first


def test_a_digit_that_is_computed_otherwise_counts(fresh, monkeypatch):
    first, probed = arithmetic(), module._probe()
    arithmetic.cache_clear()
    monkeypatch.setattr(module, "_probe", lambda: probed[:-1] + bytes([probed[-1] ^ 1]))
    assert arithmetic() != first
