"""Which columns are read, and what is refused of documents alone."""

import pytest

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DocumentError, InfeasiblePlan, UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.wanted import columns_to_read, refuse_published_unit

SEX = Domain((Attribute(name="sex", axis=Codes(2)),))
ROW = PrivacyUnit()


def test_the_domains_columns_come_first():
    assert list(columns_to_read(SEX, ROW, None)) == ["sex"]
    assert list(columns_to_read(SEX, ROW, "n")) == ["sex", "n"]
    assert list(columns_to_read(SEX, PrivacyUnit(column="who", rows=2), None)) == ["sex", "who"]


@pytest.mark.parametrize(
    ("domain", "unit", "counts", "error", "words"),
    [
        (Domain(()), ROW, None, DocumentError, "no columns"),
        (Domain((Attribute(name="a", axis=Codes(2**32 + 1)),)), ROW, None, InfeasiblePlan, r"more than 2\^32 cells"),
        (SEX, ROW, "sex", UsageFault, "name another one"),
        (SEX, PrivacyUnit(column="who", rows=2), "n", UsageFault, "cannot go with --counts"),
    ],
)
def test_what_documents_alone_refuse(domain, unit, counts, error, words):
    with pytest.raises(error, match=words):
        columns_to_read(domain, unit, counts)


def test_answers_by_person_are_refused():
    with pytest.raises(UsageFault, match="cannot be given by person"):
        refuse_published_unit(SEX, PrivacyUnit(column="sex", rows=1))
