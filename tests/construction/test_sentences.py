from dataclasses import replace
from fractions import Fraction

from handmade import make_plan, make_release, make_stopped_release

from dpqr.construction.certificate import Certificate
from dpqr.construction.sentences import budget_words, certainty, guarantee, release_guarantee
from dpqr.privacy.budget import PrivacyBudget


def test_the_guarantee_names_the_definition_its_figures_and_the_unit():
    assert guarantee(make_plan()) == (
        "Differentially private with epsilon = 1 (pure: delta = 0), for one row of the table added or removed (the "
        "number of rows is private)."
    )


def test_figures_are_exact_as_typed():
    words = budget_words(PrivacyBudget.parse("0.1234567", "1e-30"))
    assert words == "Differentially private with epsilon = 0.1234567 and delta = 1e-30"


def test_figures_that_have_no_short_decimal_are_rounded_up():
    assert "epsilon = 0.333333333334 " in budget_words(PrivacyBudget(Fraction(1, 3)))


def test_only_private_noise_gives_a_guarantee():
    release = make_release()
    assert release_guarantee(release) == guarantee(release.plan)
    assert release_guarantee(replace(release, private=False)).startswith("NOT PRIVATE")


def test_a_bound_is_never_shown_too_small():
    certificate = Certificate(records=198.00400001, fraction=0.0495000001, confidence=0.95)
    sentence = certainty(replace(make_stopped_release(), certificate=certificate))
    assert "off by more than 198.005 records (0.04951 of the declared n)" in sentence


def test_a_bound_without_a_public_n_is_in_records_alone():
    certificate = Certificate(records=3.0, fraction=None, confidence=0.9)
    sentence = certainty(replace(make_stopped_release(), certificate=certificate))
    assert sentence.endswith("off by more than 3 records.")


def test_large_bounds_are_whole_and_rounded_up():
    certificate = Certificate(records=152_662_123.2, fraction=None, confidence=0.95)
    assert "more than 152,662,124 records" in certainty(replace(make_stopped_release(), certificate=certificate))


def test_the_lack_of_a_certificate_is_explained():
    assert "has no stop test" in certainty(make_release())
    assert "without meeting its stop test" in certainty(replace(make_stopped_release(), certificate=None))
