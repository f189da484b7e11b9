from __future__ import annotations

import pytest

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain_file import UNREADABLE, DomainDraft
from dpqr.domain.text.faults import FollowUp
from dpqr.kernel.errors import DocumentError

SOUND = (Attribute(name="a", axis=Codes(2)),)


def test_columns_at_fault_are_known_and_answer_nothing() -> None:
    draft = DomainDraft(SOUND, broken=("b",))
    assert draft.names == ("a", "b")
    assert draft.axis("a") == 0
    with pytest.raises(FollowUp):
        draft.axis("b")
    with pytest.raises(DocumentError, match="no column 'c'"):
        draft.axis("c")


def test_any_unknown_name_may_be_meant_for_an_unreadable_one() -> None:
    with pytest.raises(FollowUp):
        DomainDraft(SOUND, broken=(UNREADABLE,)).axis("c")
