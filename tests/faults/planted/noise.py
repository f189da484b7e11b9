"""Faults of bits, coins, tables and selections."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "kernel/noise/bits.py",
        (
            "_LEAST_SHARE = 1 - 2.0**-13",
            "_LEAST_SHARE = 1 - 2.0**-16",
            "a coin is called heads before its cell proves it",
        ),
        (
            "possible = uniform < above",
            "possible = uniform + SHORT < above",
            "a coin is called tails before its cell proves it",
        ),
        ("    uniform += SHORT\n", "", "the bits that are not drawn yet count as zeros"),
        (
            "LazyUniform(noise, int(shorts[i]), SHORT_BITS)",
            "LazyUniform(noise)",
            "a doubtful coin forgets the bits that made it doubtful",
        ),
        (
            "LazyUniform(noise, leading, SHORT_BITS)",
            "LazyUniform(noise)",
            "a doubtful fixed coin forgets its first bits",
        ),
    ),
    *planted_in(
        "kernel/noise/bits.py",
        (
            "noise.words(-(-count // 4)).view(np.uint16)[:count]",
            "np.resize(noise.words(1).view(np.uint16), count)",
            "four short words serve for all",
        ),
        (
            "noise.words(-(-count // 2)).view(np.uint32)[:count]",
            "np.resize(noise.words(1).view(np.uint32), count)",
            "two half words serve for all",
        ),
        (
            "value >> (64 * count - bits)",
            "value >> (64 * count - bits + 1)",
            "the leading bit of an integer is always 0",
        ),
    ),
    *planted_in(
        "kernel/noise/bits.py",
        (
            "factor = min(int(unit * (1 << shift)), (1 << _HALF) - 1)",
            "factor = min(int(unit * (1 << shift)) + 1, (1 << _HALF) - 1)",
            "cells lie above their exponents",
        ),
        ("        np.minimum(distances, np.uint64(self.cap), out=distances)\n", "", "large distances wrap around"),
        ("np.uint64(best % (1 << 64))", "np.uint64(best % (1 << 63))", "the largest score loses its sign"),
    ),
    *planted_in(
        "kernel/noise/selection.py",
        (
            'pieces = np.searchsorted(self.cumulative, points, side="right")',
            'pieces = np.searchsorted(self.cumulative, points, side="left")',
            "a piece's interval is off by one",
        ),
        (
            "if LazyUniform(noise).below(partial(share_kept, exponent, self.bits, weight)):",
            "if weight:",
            "the coin that corrects an integer weight is not tossed",
        ),
        (
            "bits = WEIGHT_BITS - int(search.counts.sum()).bit_length()",
            "bits = WEIGHT_BITS - len(bounds).bit_length()",
            "sums of weights can overflow",
        ),
        ("gaps = bounds - scores\n", "gaps = (bounds - scores) // 2\n", "members are kept by half their distance"),
    ),
    *planted_in(
        "kernel/noise/bits.py",
        ("high = -(-high * high >> work)", "high = high * high >> work", "an upper bound is rounded down"),
        (
            "return low >> surplus, -(-high >> surplus)",
            "return -(-low >> surplus), -(-high >> surplus)",
            "a lower bound is rounded up",
        ),
        ("return 0, 1\n", "return 0, 0\n", "a far tail is cut off"),
        (
            "down = down * below // (step << work)",
            "down = -(-down * below // (step << work))",
            "terms of the lower sum are rounded up",
        ),
        (
            "up = -(-up * above // (step << work))",
            "up = up * above // (step << work)",
            "terms of the upper sum are rounded down",
        ),
    ),
    *planted_in(
        "kernel/noise/bits.py",
        ("_ENTRY_MARGIN = 1 + 2.0**-48", "_ENTRY_MARGIN = 1.0", "entries may be rounded below their value"),
    ),
    *planted_in(
        "kernel/noise/selection.py",
        (
            "exponent = rate * (best - int(scores[index]))",
            "exponent = rate * (best - int(scores[index])) / 2",
            "candidates are kept by half their distance",
        ),
        (
            "        if LazyUniform(noise).below(",
            "        if LazyUniform(noise, index % 2, 1).below(",
            "a candidate's own number decides whether it is kept",
        ),
        ("-(-high // bound)", "high // bound", "an upper bound is rounded down"),
    ),
    *planted_in(
        "kernel/noise/bits.py",
        (
            "self._value << missing | random_integer(missing, self._noise)",
            "random_integer(bits, self._noise)",
            "further bits replace the first ones",
        ),
        ("if value < low:", "if value <= low:", "a comparison is decided before it is proved"),
        ("if value >= high:", "if value >= low:", "a doubtful comparison is always decided one way"),
    ),
    *planted_in(
        "kernel/noise/selection.py",
        (
            "rank = uniform_below(int(reached[-1]), noise)",
            "rank = 0 * uniform_below(int(reached[-1]), noise)",
            "the first that shows heads wins, not a random one",
        ),
        (
            'chunk = int(np.searchsorted(reached, rank, side="right"))',
            'chunk = int(np.searchsorted(reached, rank, side="left"))',
            "a chunk's interval is off by one",
        ),
        (
            "rate * (best - int(scores[i]))",
            "rate * (best - int(scores[i])) / 2",
            "doubtful coins are tossed at half the rate",
        ),
    ),
    *planted_in(
        "kernel/noise/selection.py",
        ("    bounds += 1\n", "", "integer bounds lie below the weights"),
        (
            'index = int(np.searchsorted(self.cumulative, point, side="right"))',
            'index = int(np.searchsorted(self.cumulative, point, side="left"))',
            "a candidate's interval is off by one",
        ),
        ("WEIGHT_BITS = 61", "WEIGHT_BITS = 63", "sums of weights can overflow"),
        (
            "rank - (int(reached[chunk - 1]) if chunk else 0)",
            "rank - (int(reached[0]) if chunk else 0)",
            "a candidate of a later chunk is taken for another",
        ),
    ),
    *planted_in(
        "kernel/noise/selection.py",
        (
            "~known & (search.bounds > best)",
            "~known & (search.bounds > best + 1)",
            "a score that may be the largest is not looked at",
        ),
    ),
    *planted_in(
        "kernel/noise/selection.py",
        ("_LOG2_E = 23637\n", "_LOG2_E = 23638\n", "a coin's chance may exceed 1"),
        ("            used.add(place)\n", "", "two heads may stand for one candidate"),
        (
            "fresh = [label for label in drawn if label not in tossed]",
            "fresh = list(drawn)",
            "a head whose coins failed is tossed again",
        ),
        (
            "partial(share_kept, exponent, times, 1)",
            "partial(share_kept, exponent, 0, 1)",
            "the halvings are counted twice",
        ),
    ),
    *planted_in(
        "kernel/noise/source.py",
        (
            "np.frombuffer(os.urandom(8 * count), dtype",
            "np.frombuffer(os.urandom(8) * count, dtype",
            "one random word serves for all",
        ),
        (
            "    def private(self) -> bool:\n        return False",
            "    def private(self) -> bool:\n        return True",
            "a seeded stream passes for private noise",
        ),
    ),
    *planted_in(
        "kernel/noise/bits.py",
        ("        if value < bound:", "        if value <= bound:", "a uniform integer may be its bound"),
        (
            "pending = pending[values[pending] >= bound]",
            "pending = pending[:0]",
            "a second draw is kept whatever it is",
        ),
        (
            "    pending = np.flatnonzero(values >= bound)\n",
            "    values %= bound\n    pending = np.flatnonzero(values >= bound)\n",
            "small integers are likelier than large ones",
        ),
    ),
)
