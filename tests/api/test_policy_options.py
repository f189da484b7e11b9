import pytest

from dpqr.api.policy_options import policy_fields
from dpqr.errors import UsageFault


def test_options_have_the_names_of_the_fields():
    given = {"max_records": 5, "require_approval": True, "delimiter": None}
    assert policy_fields(given) == {"records": 5, "approval": True}
    with pytest.raises(UsageFault):
        policy_fields({"require_approval": "yes"})
