"""Names of columns that bring a hint to protect persons."""

from __future__ import annotations

import pytest

from dpqr.domain.proposals import identifier_hint, named_like_identifier


@pytest.mark.parametrize(
    "name", ["id", "ID", "person_id", "patient.ID", "customerId", "SSN", "work email", "uuid", "Full_Name", "surname"]
)
def test_names_of_identifiers(name) -> None:
    assert named_like_identifier(name)


@pytest.mark.parametrize("name", ["age", "paid", "identity", "idle", "street_name", "email_opt_in", "_", "7", "valid"])
def test_other_names(name) -> None:
    assert not named_like_identifier(name)


def test_the_hint_names_all_of_them_and_the_option() -> None:
    assert identifier_hint(["age", "sex"]) is None
    hint = identifier_hint(["age", "person_id", "Email"])
    assert hint is not None
    assert hint.startswith("columns 'person_id', 'Email' are named like identifiers; ")
    assert "--unit person_id --max-rows K" in hint
