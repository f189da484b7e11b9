from dpqr.releases.record.parts import option_parts
from dpqr.strategies.known import SCHEDULES
from dpqr.strategies.schedules.anytime import VARIANTS, theory


def test_stages_are_the_default_and_every_variant_says_its_name():
    assert SCHEDULES.made("theory") == theory()
    for variant in VARIANTS:
        made = SCHEDULES.made("theory", variant=variant)
        assert option_parts(made) == {"name": "theory", "variant": variant}
        assert made.adaptive == (variant == "anytime")
