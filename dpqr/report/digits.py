"""Digits: answers rounded for people. A figure has as many as its error leaves it; files keep full precision."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, isfinite, log10

from dpqr.data.arrays import FloatArray

OF_ERROR, WITHOUT_ERROR = 2, 4
"""Significant digits of an error, and of a figure that has none."""
MOST_DECIMALS = 3


def answer_texts(values: FloatArray, errors: FloatArray) -> list[str]:
    """Each value of a block, rounded to the second significant digit of its error (a standard deviation).

    Without an error to four significant digits, with no more decimals than the largest value needs. NaN is "".
    """
    largest = max((abs(value) for value in values.tolist() if isfinite(value)), default=0.0)
    most = max(_place(largest, WITHOUT_ERROR, MOST_DECIMALS), 0)
    pairs = zip(values.tolist(), errors.tolist(), strict=True)
    return _trimmed([_text(v, _decimals(e) if e > 0 else _place(v, WITHOUT_ERROR, most)) for v, e in pairs])


def error_texts(errors: FloatArray) -> list[str]:
    """Each error to two significant digits."""
    return [_text(error, _decimals(error)) for error in errors.tolist()]


def lower_texts(bounds: FloatArray, errors: FloatArray) -> list[str]:
    """Lower ends of intervals, with the digits of their errors, moved down."""
    return _bound_texts(bounds, errors, floor)


def upper_texts(bounds: FloatArray, errors: FloatArray) -> list[str]:
    """Upper ends, moved up."""
    return _bound_texts(bounds, errors, ceil)


def _bound_texts(bounds: FloatArray, errors: FloatArray, outward: Callable[[float], int]) -> list[str]:
    pairs = zip(bounds.tolist(), errors.tolist(), strict=True)
    return _trimmed([_bound(bound, _decimals(error), outward) for bound, error in pairs])


def _bound(value: float, place: int, outward: Callable[[float], int]) -> str:
    if value != value:
        return ""
    return _text(outward(value * 10.0**place) / 10.0**place, place)


def _decimals(error: float) -> int:
    return _place(error, OF_ERROR, MOST_DECIMALS)


def _place(value: float, digits: int, most: int) -> int:
    """The decimal place of the last of so many significant digits, at most `most`; negative: before the point."""
    return min(digits - 1 - floor(log10(abs(value))), most) if value and isfinite(value) else most


def _text(value: float, place: int) -> str:
    if value != value:
        return ""
    return f"{round(value, place) + 0.0:,.{max(place, 0)}f}"


def _trimmed(texts: list[str]) -> list[str]:
    """Without the zeros that all of them end in behind the point: counts are whole."""
    figures = [text for text in texts if text]
    if not all("." in text for text in figures):
        return texts
    zeros = min((len(text) - len(text.rstrip("0")) for text in figures), default=0)
    return [text[: len(text) - zeros].rstrip(".") if text else text for text in texts]
