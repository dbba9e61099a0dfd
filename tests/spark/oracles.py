"""The same numbers by other ways: plainly in Python, by the native certifier, and in SQL alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paraply import Certifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("origin", pa.string()),
        ("session", pa.int64()),
        ("kind", pa.string()),
        ("write_set", pa.list_(pa.int64())),
        ("reads", pa.list_(pa.int64())),
        ("server_id", pa.int64()),
        ("barrier", pa.bool_()),
    ]
)
Numbers = tuple[int | None, int | None]


def history(seed: int, rows: int = 200) -> list[dict[str, Any]]:
    """A trace with hot keys, repeated keys, shared keys, barriers, view changes, sessions and two origins."""
    choose = random.Random(seed)
    keys = choose.choice([4, 20, 200, 5000])
    barriers = choose.choice([0, 0, 0.01, 0.1])

    def key() -> int:
        return choose.choice([1, -1]) * choose.randrange(1, keys + 1) * 0x0123456789ABCDE % (1 << 62)

    def row(position: int) -> dict[str, Any]:
        exclusive = [key() for _ in range(choose.choice([0, 1, 1, 2, 3, 6] if choose.random() < 0.2 else [1, 2, 3]))]
        exclusive += exclusive[:1] if choose.random() < 0.1 else []
        shared = [key() for _ in range(choose.choice([0, 0, 1, 2]))]
        kind = "view_change" if choose.random() < 0.01 else "ddl" if choose.random() < barriers else "dml"
        return {
            "position": position,
            "origin": choose.choice(["a", "b"]),
            "session": choose.choice([None, 1, 2, 3]),
            "kind": kind,
            "write_set": exclusive,
            "reads": shared,
            "server_id": 1,
            "barrier": kind != "dml" or choose.random() < barriers,
        }

    return [row(position) for position in range(1, rows + 1)]


def plainly(
    rows: Sequence[dict[str, Any]], scheme: str = "fine", gc_after: Sequence[int] = (), local: Sequence[str] = (), sessions: bool = False
) -> list[Numbers]:
    """The rules one after the other, without any cleverness."""
    exclusive: dict[Any, int] = {}
    shared: dict[Any, int] = {}
    floor, given, out = 1, 1, []
    for row in rows:
        owned = list(row["write_set"]) + (list(row["reads"]) if scheme == "group" else [])
        read = [] if scheme == "group" else list(row["reads"])
        if row["kind"] == "view_change":
            out.append((0, 0))
            continue
        if row["origin"] in local:
            for key in owned:
                exclusive[key] = shared[key] = 0
            out.append((None, None))
            continue
        if given in gc_after:
            floor = given
        given += 1
        barrier = row["barrier"] or not (owned or read)
        if sessions:
            owned.append((row["origin"], row["session"]))
        newest = floor
        for key in set(owned):
            newest = max(newest, exclusive.get(key, 0), shared.get(key, 0))
        for key in set(read) - set(owned):
            newest = max(newest, exclusive.get(key, 0))
        for key in set(owned):
            exclusive[key], shared[key] = given, 0
        for key in set(read) - set(owned):
            shared[key] = given
        if barrier:
            newest, floor = given - 1, given
        out.append((0, 0) if given == 2 else (newest, given))
    return out


def certified(rows: Sequence[dict[str, Any]], local: Sequence[str] = ()) -> list[Numbers]:
    """The native certifier in one process; it knows no shared keys, so these count as all others."""
    certifier = Certifier()
    out: list[Numbers] = []
    for row in rows:
        if row["kind"] == "view_change":
            out.append(certifier.view_change())
            continue
        items = [key % (1 << 64) for key in [*row["write_set"], *row["reads"]]]
        answer = certifier.certify(items, local=row["origin"] in local, barrier=row["barrier"])
        out.append((answer.last_committed, answer.sequence_number))
    return out


def in_sql(trace: DataFrame) -> DataFrame:
    """Spark SQL alone: who touched the key before (``lag``), and the newest of these for each transaction.

    For traces of remote transactions whose positions are dense, under scheme ``group``.
    """
    trace.createOrReplaceTempView("plain_trace")
    return trace.sparkSession.sql("""
        with touches as (select position, explode(array_distinct(concat(write_set, reads))) as key from plain_trace),
        befores as (select position, lag(position) over (partition by key order by position) as before from touches),
        newest as (select position, max(before) as before from befores group by position),
        barriers as (select position, barrier or size(write_set) + size(reads) = 0 as barrier from plain_trace),
        floors as (
            select position, barrier,
                max(if(barrier, position, null)) over (order by position rows between unbounded preceding and 1 preceding) as floor
            from barriers)
        select position,
            if(position = 1, 0, if(barrier, position, greatest(1, coalesce(before, 0) + 1, coalesce(floor, 0) + 1)))
                as computed_last_committed,
            if(position = 1, 0, position + 1) as computed_sequence_number
        from floors left join newest using (position)""")


def in_sql_without_barriers(trace: DataFrame) -> DataFrame:
    """The same where every transaction touches something and none is a barrier: neither a running maximum nor a join is needed."""
    trace.createOrReplaceTempView("plain_trace")
    return trace.sparkSession.sql("""
        with touches as (select position, explode(array_distinct(concat(write_set, reads))) as key from plain_trace),
        befores as (select position, lag(position) over (partition by key order by position) as before from touches)
        select position, if(position = 1, 0, greatest(1, coalesce(max(before), 0) + 1)) as computed_last_committed,
            if(position = 1, 0, position + 1) as computed_sequence_number
        from befores group by position""")
