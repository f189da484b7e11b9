import numpy as np
import pytest

from dpqr.errors import UsageFault
from dpqr.prediction.bases import RidgeBase, read_base


def test_the_built_in_base_learns_with_few_rows_and_with_many():
    vectors = np.eye(3)
    for repeats in (1, 10):
        found = RidgeBase().classes(np.repeat(vectors, repeats, axis=0), np.repeat([2, 0, 5], repeats), 6, vectors)
        assert found.tolist() == [2, 0, 5]
    assert RidgeBase().numbers(vectors, np.array([1.0, -1.0, 0.0]), vectors) == pytest.approx([1, -1, 0], abs=0.1)


def test_an_estimator_is_named_with_literal_options():
    assert read_base("least-squares") == RidgeBase()
    for given in (
        "tree",
        "os.system('x')",
        "a.b(**c)",
        "a.b(x=__import__('os'))",
        "a.b;c",
        "nowhere.to.be.Found",
        "collections.OrderedDict",
        "a[0].b",
    ):
        with pytest.raises(UsageFault, match="--base"):
            read_base(given)


def test_scikit_learn_where_it_is_installed():
    pytest.importorskip("sklearn")
    base = read_base("sklearn.tree.DecisionTreeClassifier(max_depth=2)")
    assert base.classes(np.eye(2), np.array([0, 1]), 2, np.eye(2)).tolist() == [0, 1]
