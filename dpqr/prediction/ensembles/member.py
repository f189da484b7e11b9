"""Member: the process in which an estimator is trained on one part, and the server that such processes fork from.

A server imports the estimator and is given the public points. It reads no part. For each part it forks a process,
which reads that part alone, trains, predicts, writes the predictions and ends; then it forks the next one.
`dpqr.prediction.ensembles.isolation` starts servers and says what that proves.

The messages: an order (JSON) and the points, each after its length in 8 bytes; answered by READY, or by FAILED, a
length and a reason. Then parts, each after its length; answered by FOUND and one float64 a point if all went well, and
then always by ENDED.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.noise.public import seed_everybody
from dpqr.prediction.ensembles.estimators import parsed, short

READY, FAILED, FOUND, ENDED = b"R", b"F", b"P", b"E"
CLOSED = 99
"""A process' exit status where there was no further part."""
HEADER = 4
"""Integers before a part's arrays: its number, whether it has labels, rows and width."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What every part is trained by.

    Attributes:
        maker, options: the estimator's class and arguments.
        seeded: whether `random_state` is the part's number.
        points: features of the points, shape (predictions, width); public.
        seconds: of processor time before a part counts as failed; by the clock ten times as many.
    """

    maker: Any
    options: dict[str, Any]
    seeded: bool
    points: FloatArray
    seconds: int

    def predicted(self, part: bytes) -> bytes:
        """Predictions at the points, as bytes. Private."""
        number, labelled, rows, width = np.frombuffer(part, dtype=np.int64, count=HEADER).tolist()
        body = memoryview(part)[8 * HEADER :]
        vectors = np.frombuffer(body, dtype=np.float64, count=rows * width).reshape(rows, width).copy()
        kind = np.int64 if labelled else np.float64
        targets = np.frombuffer(body[8 * rows * width :], dtype=kind, count=rows).copy()
        seed_everybody(number)
        estimator = self.maker(**self.options, **({"random_state": number} if self.seeded else {}))
        estimator.fit(vectors, targets)
        found = np.asarray(estimator.predict(self.points), dtype=np.float64)
        if found.shape != (len(self.points),):
            raise ValueError("not one number a point")
        return found.tobytes()


def main() -> None:
    """A server's whole life."""
    source, sink = _kept(0, os.O_RDONLY), _kept(1, os.O_WRONLY)
    order, points = _message(source), _message(source)
    if order is None or points is None:
        return
    try:
        work = _work(json.loads(order), points)
    except BaseException as error:
        reason = short(error).encode(errors="replace")
        _write(sink, FAILED + len(reason).to_bytes(8, "little") + reason)
        return
    _write(sink, READY)
    while _one_part(work, source, sink):
        _write(sink, ENDED)


def _work(order: dict[str, Any], points: bytes) -> Work:
    """Import the estimator and make it once, which shows whether the arguments fit."""
    name, options = parsed(order["text"])
    module, _, kind = name.rpartition(".")
    maker = getattr(import_module(module), kind)
    made = maker(**options)
    if not (callable(getattr(made, "fit", None)) and callable(getattr(made, "predict", None))):
        raise TypeError("an estimator needs fit and predict, as scikit-learn's have")
    shape = (-1, order["width"])
    at = np.frombuffer(points, dtype=np.float64).reshape(shape) if points else np.zeros((0, order["width"]))
    return Work(maker=maker, options=options, seeded=order["seeded"], points=at.copy(), seconds=order["seconds"])


def _one_part(work: Work, source: int, sink: int) -> bool:
    """Fork, and wait for the end. False: there are no more parts. This process reads nothing of the part."""
    child = os.fork()
    if not child:
        _trained(work, source, sink)
    _, status = os.waitpid(child, 0)
    return not (os.WIFEXITED(status) and os.WEXITSTATUS(status) == CLOSED)


def _trained(work: Work, source: int, sink: int) -> None:
    """In a process of its own: never returns. No later part can be read from here."""
    try:
        part = _message(source)
        if part is None:
            os._exit(CLOSED)
        os.close(source)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10 * work.seconds)
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (work.seconds, most))
        found = work.predicted(part)
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        _write(sink, FOUND + found)
        os._exit(0)
    except BaseException:
        os._exit(1)


def _kept(descriptor: int, mode: int) -> int:
    """The same stream under another number, which no estimator knows; the usual one leads nowhere."""
    kept, nowhere = os.dup(descriptor), os.open(os.devnull, mode)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return kept


def _message(source: int) -> bytes | None:
    """The next one; None at the end of the stream."""
    length = _exactly(source, 8)
    return None if length is None else _exactly(source, int.from_bytes(length, "little"))


def _exactly(source: int, count: int) -> bytes | None:
    """This many bytes and not one more: what follows is another process' to read."""
    found = bytearray()
    while len(found) < count:
        more = os.read(source, min(count - len(found), 2**20))
        if not more:
            return None
        found += more
    return bytes(found)


def _write(sink: int, message: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):
        while message:
            message = message[os.write(sink, message) :]
