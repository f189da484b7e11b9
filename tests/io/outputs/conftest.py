import pytest
from support.handmade_release import make_plan, make_release


@pytest.fixture
def plan():
    return make_plan()


@pytest.fixture
def release():
    return make_release()
