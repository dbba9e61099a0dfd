"""The transaction in which a piece of events begins: a batch of events may end between its first event and its last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import EventReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from paraply.analysis.parts import Place

__all__ = ["open_gtid", "with_open_gtid"]

BEGINS = frozenset({33, 34, 42, 162})
"""Codes of the events that begin transactions: Gtid, Anonymous_Gtid, Gtid_tagged, and MariaDB's Gtid."""
OF_THE_LOG = frozenset({3, 4, 15, 27, 35, 36, 41, 161, 163})
"""Codes of the events that belong to the log, and not to a transaction."""


def open_gtid(copy: str, pieces: Sequence[tuple[Place, int]]) -> str | None:
    """Return the GTID of the transaction in which the last one of some pieces begins; None if it begins with a transaction.

    Args:
        copy: The file.
        pieces: Starts and ends of consecutive pieces.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    *before, (start, end) = pieces
    first = EventReader(copy, piece=(start, end), verify_checksums=False).next_batch(1)
    if first is None or first.column("type_code")[0].as_py() in BEGINS:
        return None
    for piece in reversed(before):
        found: pa.Scalar | None = None
        reader = EventReader(copy, piece=piece, verify_checksums=False)
        while (batch := reader.next_batch()) is not None:
            codes = batch.column("type_code")
            begins = pc.indices_nonzero(pc.is_in(codes, value_set=pa.array(sorted(BEGINS), codes.type)))
            if len(begins):
                found = batch.column("gtid")[begins[-1].as_py()]
        if found is not None:
            gtid: str | None = found.as_py()
            return gtid
    return None


def with_open_gtid(batches: Iterable[pa.RecordBatch], gtid: str | None) -> Iterator[pa.RecordBatch]:
    """Yield batches of events with the GTID of the transaction in which they begin, up to the first one that begins there."""
    import pyarrow as pa

    for batch in batches:
        if gtid is None:
            yield batch
            continue
        codes, gtids = batch.column("type_code").to_pylist(), batch.column("gtid").to_pylist()
        for row, code in enumerate(codes):
            if code in BEGINS:
                gtid = None
                break
            if code not in OF_THE_LOG:
                gtids[row] = gtid
        yield batch.set_column(batch.schema.get_field_index("gtid"), "gtid", pa.array(gtids, pa.string()))
