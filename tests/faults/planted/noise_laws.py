"""Faults of the noise laws: their draws and their public figures."""

from faults.anchored import Anchored, at

_ROOM = "kernel"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "SphericalLaplace.sample",
        ("range(self.width)", "range(self.width - 1 or 1)", "one too few"),
    ),
    *at(
        _ROOM,
        "RealExponential.prefix",
        ("self.rest.prefix(bits)", "0", "an exponential without its fraction"),
    ),
    *at(
        _ROOM,
        "SphericalLaplace._rounded",
        ("-near if normal.negative else near", "near", "no draw is negative"),
        (
            ("low = self.scale * radius / (most << bits)\nhigh = self.scale * (radius + self.width) / (least << bits)"),
            (
                "low = self.scale / 2 * radius / (most << bits)\n"
                "high = self.scale / 2 * (radius + self.width) / (least << bits)"
            ),
            "half of the stated scale is drawn",
        ),
    ),
    *at(
        _ROOM,
        "chernoff",
        ("log(beta)", "log(2 * beta)", "the bound is missed twice as often as it says"),
        (
            "bound((left + right) / 2) * _MARGIN",
            "bound((left + right) / 2) / _MARGIN",
            "the margin for the arithmetic is on the wrong side",
        ),
    ),
    *at(
        _ROOM,
        "chernoff.bound",
        ("draws * log_moment(point)", "log_moment(point)", "the bound on a sum is that of one draw"),
    ),
    *at(
        _ROOM,
        "LaplaceEnvelope.exponent",
        ("2 * self.variance", "self.variance", "doubtful proposals are kept by half the variance"),
    ),
    *at(
        _ROOM,
        "_envelope",
        ("2 * variance", "2.2 * variance", "the variance of what is kept is a tenth larger than stated"),
        ("variance / scale", "scale", "the envelope's centre is off"),
        ("Fraction(scale)", "Fraction(scale + 1)", "the proposals are wider than the coins take off"),
    ),
    *at(
        _ROOM,
        "DiscreteGaussian._propose",
        ("proposals[kept]", "sizes[kept]", "noise is never negative"),
        ("self.variance", "self.variance * Fraction(9, 10)", "the variance that is drawn is 0.9 of the stated one"),
    ),
    *at(
        _ROOM,
        "DiscreteGaussian.tail",
        ("np.cumsum(weights[::-1])[::-1] * 2", "np.cumsum(weights[::-1])[::-1]", "a tail is that of one side"),
    ),
    *at(
        _ROOM,
        "DiscreteGaussian._tail_bound",
        ("k + 0.5 if k + 0.5 >= deviation else float(k)", "k + 1.0", "the tail of large variances begins a step late"),
    ),
    *at(
        _ROOM,
        "DiscreteGaussian.sum_tail",
        (
            "draws + chernoff(partial(normal_log_moment, self.variance), limit, draws, beta)",
            "chernoff(partial(normal_log_moment, self.variance), limit, draws, beta)",
            "the bound of a normal sum without the step that rounding takes",
        ),
        ("beta / draws", "beta", "a union bound that does not share beta"),
    ),
    *at(
        _ROOM,
        "DiscreteGaussian.weighted_tail",
        ("2 / min(beta, 1.0)", "1 / min(beta, 1.0)", "a two-sided bound is that of one side"),
    ),
    *at(
        _ROOM,
        "normal_log_moment",
        ("step * step / 2", "step * step / 4", "the moments of a normal sum are too small"),
    ),
    *at(
        _ROOM,
        "DiscreteLaplace.weighted_tail",
        ("2 * ratio / gap ** 2", "ratio / gap ** 2", "the second moment is half of what it is"),
        ("3 * second ** 2", "second ** 2", "the fourth moment is too small"),
        ("4 * ratio", "ratio", "the fourth cumulant is too small"),
    ),
    *at(
        _ROOM,
        "DiscreteLaplace._within",
        ("2 * power", "power", "a tail is that of one side"),
    ),
    *at(
        _ROOM,
        "DiscreteLaplace.sample",
        (
            "geometric_parts(self.scale)",
            "geometric_parts(self.scale * Fraction(9, 10))",
            "the scale that is drawn is 0.9 of the stated one",
        ),
        (
            "sizes.sample(len(part), noise)",
            "draws[:len(part)] if start else sizes.sample(len(part), noise)",
            "every chunk repeats the first one's noise",
        ),
        (
            "bernoulli_fixed(leading, sign, len(part), noise)",
            "bernoulli_fixed(leading, sign, 1, noise)",
            "one coin is the sign of all draws",
        ),
    ),
    *at(
        _ROOM,
        "_sign_bracket",
        (
            "(low * one // (one + low), -(-high * one // (one + high)))",
            "(low, high)",
            "the sign's coin makes zero too rare",
        ),
    ),
    *at(
        _ROOM,
        "DiscreteLaplace.sum_tail",
        ("beta / draws", "beta", "a union bound that does not share beta"),
    ),
    *at(
        _ROOM,
        "DiscreteLaplace._log_moment",
        ("log(-expm1(-rate)) + log1p(grown)", "log(-expm1(-rate))", "the moments of a sum are too small"),
    ),
    *at(
        _ROOM,
        "_quotients",
        ("'right'", "'left'", "a word on an edge is not compared further"),
        ("int(words[i])", "int(words[i]) | 1", "a bit of a doubtful draw is always set"),
    ),
    *at(
        _ROOM,
        "_quotients",
        ("above + 1", "above", "the climb compares with the threshold below"),
    ),
    *at(
        _ROOM,
        "GeometricParts.sample",
        ("_remainders(self, count, noise)", "_remainders(self, 1, noise)", "one remainder serves for all draws"),
    ),
    *at(
        _ROOM,
        "_remainders",
        ("pending[~_keep(parts, proposed, noise)]", "pending[:0]", "a second proposal is kept whatever it is"),
    ),
    *at(
        _ROOM,
        "_keep",
        ("parts.scale", "parts.quotient", "doubtful remainders are kept by a wrong scale"),
    ),
    *at(
        _ROOM,
        "cells_below",
        ("exponents -= 0.5", "", "cells without the half cell that rounding errors take"),
    ),
    *at(
        _ROOM,
        "CellEnvelope.exponent",
        ("uniform if size else (1 + uniform) / 2", "uniform", "the cell of 0 counts one half only"),
    ),
    *at(
        _ROOM,
        "CellEnvelope.share_kept.bracket",
        (
            "exp_bracket(far, precision)",
            "exp_bracket(near, precision)",
            "a place whose bits are not drawn is taken for known",
        ),
    ),
    *at(
        _ROOM,
        "RoundedGaussian._propose.threshold",
        (
            "LazyUniform(noise, int(words[i]), WORD_BITS)",
            "LazyUniform(noise)",
            "a doubtful proposal gets another place",
        ),
    ),
    *at(
        _ROOM,
        "RoundedGaussian._propose",
        ("noise.words(count)", "np.resize(noise.words(1), count)", "one place serves for all cells"),
    ),
    *at(
        _ROOM,
        "SMALLEST_VARIANCE",
        ("Fraction(1, 64)", "Fraction(1, 6400)", "variances for which the rounding errors are not proved"),
    ),
)
