"""Workers: several threads that code and count the batches of one pass, each into an intake of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from dpqr.io.tables.intake import Intake
from dpqr.io.tables.row_encoder import Records, RowEncoder


def take_all(
    batches: Iterable[tuple[Records, RowEncoder]], intakes: Sequence[Intake], check: Callable[[int], None]
) -> frozenset[str]:
    """Give every batch to one of the intakes; which one depends on the threads' speed.

    check: is called with the records read so far, in this thread. Returns: the columns whose `fail` rule was broken.
    No more batches are held than there are intakes and one; whatever a thread raises ends the pass.
    """
    failed: set[str] = set()
    if len(intakes) == 1:
        for batch, rows in batches:
            failed |= intakes[0].take(batch, rows)
            check(intakes[0].read)
        return frozenset(failed)
    idle: SimpleQueue[Intake | Exception] = SimpleQueue()
    for each in intakes:
        idle.put(each)

    def take(intake: Intake, batch: Records, rows: RowEncoder) -> None:
        try:
            failed.update(intake.take(batch, rows))
            idle.put(intake)
        except Exception as error:  # shown by whoever waits for an intake
            idle.put(error)

    with ThreadPoolExecutor(len(intakes)) as pool:
        for batch, rows in batches:
            pool.submit(take, _free(idle), batch, rows)
            check(sum(each.read for each in intakes))
        for _ in intakes:
            _free(idle)
    check(sum(each.read for each in intakes))
    return frozenset(failed)


def _free(idle: SimpleQueue[Intake | Exception]) -> Intake:
    """An intake that waits. Raises: what a thread has raised."""
    found = idle.get()
    if isinstance(found, Exception):
        raise found
    return found
