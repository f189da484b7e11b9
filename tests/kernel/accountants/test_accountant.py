from fractions import Fraction

import pytest

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.errors import InfeasiblePlan


@pytest.mark.parametrize(("share", "count"), [(Fraction(0), 1), (Fraction(-1), 1), (Fraction(1), -1)])
def test_a_portion_without_share_or_with_a_negative_count_is_refused(share, count):
    with pytest.raises(InfeasiblePlan):
        Portion(share=share, count=count)


def test_a_portion_of_no_draws_may_stand_in_a_plan():
    assert Portion(share=Fraction(1), count=0).count == 0
