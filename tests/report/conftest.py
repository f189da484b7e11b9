import pytest
from handmade import make_plan, make_release


@pytest.fixture
def plan():
    return make_plan()


@pytest.fixture
def release():
    return make_release()
