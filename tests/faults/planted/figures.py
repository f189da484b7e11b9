"""Faults of figures and survey weights: sums whose steps are off, intervals that hold too seldom."""

from faults.anchored import Anchored, at

FAULTS: tuple[Anchored, ...] = (
    *at(
        "queries",
        "weighing",
        ("min(max(bins.midpoint(index), Fraction(0)), most)", "max(bins.midpoint(index), Fraction(0))", "no maximum"),
        ("max(bins.midpoint(index), Fraction(0))", "bins.midpoint(index)", "negative weights"),
    ),
    *at(
        "queries",
        "Weighing.of",
        ("block.scale * self.grid", "block.scale", "sums of weights in steps"),
    ),
    *at(
        "queries",
        "with_survey_weight",
        ("None if figure.tested is None else found.of(figure.tested, ending)", "figure.tested", "errors of counts"),
    ),
    *at(
        "queries",
        "compile_mean",
        (
            "[line.steps - line.places, line.places]",
            "[line.places, line.steps - line.places]",
            "a mean from the other end",
        ),
    ),
    *at(
        "queries",
        "compile_variance",
        ("2 * line.places", "line.places", "half of the middle sum"),
        ("(NONE, NONE, ONE)", "(NONE, ONE, ONE)", "a square too large"),
    ),
    *at(
        "queries",
        "compile_proportion",
        ("~mask.reshape(-1)", "mask.reshape(-1)", "a proportion of half"),
    ),
    *at(
        "queries",
        "_line",
        ("(high - low) / grid > MOST_STEPS ** (1 / power)", "False", "steps beyond 64 bits"),
    ),
    *at(
        "queries",
        "comparisons",
        ("part.numerator * last", "last", "any part is the lowest"),
    ),
    *at(
        "release",
        "fieller",
        ("bottom ** 2 - square * second", "bottom ** 2", "a sure denominator"),
    ),
    *at(
        "release",
        "AddedUp.pair",
        ("-one * other", "one * other", "errors that cancel"),
    ),
    *at(
        "release",
        "linearise",
        (
            "FigureSpan(lower=values - factor * error, upper=values + factor * error, error=error, small=small)",
            "FigureSpan(lower=values - error, upper=values + error, error=error, small=small)",
            "one deviation",
        ),
    ),
    *at(
        "release",
        "invert_curve",
        (
            "np.concatenate([upper, ends], axis=1) >= 0.0",
            "np.concatenate([upper, ends], axis=1) > 0.0",
            "a bin that holds the quantile is left out",
        ),
        ("before.shape[1] - 1 - before[:, ::-1].argmax(axis=1)", "reached.argmax(axis=1)", "the first bin alone"),
    ),
    *at(
        "release",
        "_ground",
        (
            "all((name in direct for name in figure.blocks)) and (not np.isnan(margins).any())",
            "not np.isnan(margins).any()",
            "sums of draws as single ones",
        ),
    ),
    *at(
        "release",
        "_largest",
        (
            "(upper[:, None, :] >= own[:, :, None]).sum(axis=2) - 1",
            "(upper[:, None, :] >= own[:, :, None]).sum(axis=2) - 2",
            "a cell that has a rival is sure",
        ),
    ),
    *at(
        "release",
        "_quantiles",
        ("above[:, own]", "0 * above[:, own]", "half an interval"),
    ),
    *at(
        "release",
        "_one_value",
        ("top - floor * bottom", "top + floor * bottom", "a mean below its floor"),
    ),
    *at(
        "release",
        "_answers",
        (
            "output.views is not None and views and (views['base'] != output.views)",
            "False and views and (views['base'] != output.views)",
            "views of another base are skipped",
        ),
    ),
)
