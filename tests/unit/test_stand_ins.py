"""The stand-ins that the applier's tests use do what the native objects do: both plan the same log, and have the same names."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fuzz.test_read_damaged import keyed
from unit.applier import fakes

from paraply import _native
from paraply.errors import UsageError
from paraply.schema.model import Key, KeyPart

MOST = 600
BATCH = 64
#: Properties of a block that both have, apart from places in the file, which the stand-ins number by themselves.
OF_A_BLOCK = ("id", "kind", "depends_on_all", "transaction_count", "skipped", "filtered", "rows", "bytes", "first_gtid", "last_gtid")


class Log:
    """The first transactions of a real log, in batches, as native objects and as stand-ins."""

    def __init__(self, path: Path, *, by_event: bool = False) -> None:
        self._reader = _native.LogReader([str(path)])
        self._catalog = _native.Catalog()
        self._by_event = by_event
        self._exclusive: set[int] = set()
        self._shared: set[int] = set()

    def batches(self) -> Iterator[tuple[_native.TransactionBatch, _native.WriteSets, fakes.Batch]]:
        """Yield each batch with its write sets, and its stand-in with the same hashes as keys."""
        read = 0
        while read < MOST and (batch := self._reader.next_batch(BATCH)) is not None:
            for table_map in batch.table_maps():
                whole = keyed(table_map)
                first = Key("PRIMARY", (KeyPart(whole.columns[0].name),), unique=True)
                self._catalog.put(replace(whole, keys=(first,)))
            sets = batch.write_sets(self._catalog, by_event=self._by_event)
            stands = fakes.Batch(self._stand_in(read + place, one, sets.items(place)) for place, one in enumerate(batch))
            read += len(batch)
            yield batch, sets, stands

    def _stand_in(self, ordinal: int, one: _native.Transaction, keys: _native.TransactionKeys) -> fakes.Transaction:
        assert not keys.barrier or one.kind != "dml"
        self._exclusive.update(keys.exclusive)
        self._shared.update(keys.shared)
        assert not self._exclusive & self._shared, "the stand-ins have no keys that are shared"
        return fakes.Transaction(
            ordinal, tuple(map(str, keys.exclusive)), kind=one.kind, gtid=one.gtid, bytes=one.bytes, rows=one.rows, server_id=one.server_id,
            session=one.session, last_committed=one.last_committed, sequence_number=one.sequence_number, committed_us=one.committed_us,
        )  # fmt: skip


def shown(block: Any) -> dict[str, Any]:
    """Return the description of a block, without the blocks that it waits for."""
    found = {name: getattr(block, name) for name in OF_A_BLOCK}
    found["gtids"] = [one.gtid for one in block.transactions]
    found["sessions"] = sorted(block.sessions)
    found["parts"] = [(part.id, part.first_gtid, part.skipped) for part in block.split()]
    return found


def start_of(block: Any, blocks: dict[int, Any]) -> set[int]:
    """Return the blocks that must be committed before this one may start. Behind a barrier that one stands for all before it."""
    barrier = max((number for number, other in blocks.items() if number < block.id and other.depends_on_all), default=0)
    return {number for number in block.depends_on if number > barrier}


@pytest.mark.parametrize("committed", [0, 3])
@pytest.mark.parametrize("merge", [1, 4, 50])
def test_both_plan_the_same_blocks(demo_log: Path, merge: int, committed: int) -> None:
    planners = _native.Planner(), fakes.Planner()
    blocks: tuple[dict[int, Any], dict[int, Any]] = {}, {}
    for batch, sets, stands in Log(demo_log).batches():
        low = min(committed, len(blocks[0]))
        native = planners[0].plan(batch, sets, merge=merge, max_bytes=1 << 30, committed=low)
        standing = planners[1].plan(stands, stands.write_sets(fakes.Catalog()), merge=merge, max_bytes=1 << 30, committed=low)
        assert [shown(block) for block in standing] == [shown(block) for block in native]
        for known, new in zip(blocks, (native, standing), strict=True):
            known.update((block.id, block) for block in new)
        waits = [[start_of(block, known) for block in new] for known, new in zip(blocks, (native, standing), strict=True)]
        assert waits[0] == waits[1]
        assert [block.depends_on_all for block in native] == [block.depends_on_all for block in standing]
    assert sum(one.depends_on != [] for one in blocks[0].values()) > 5, "the log has dependencies"
    assert any(one.depends_on_all for one in blocks[0].values()), "and barriers"


def test_both_skip_what_is_executed(demo_log: Path) -> None:
    done = [str(one.gtid) for batch, _, _ in Log(demo_log).batches() for one in batch][:200:3]
    executed = _native.GtidSet(",".join(done))
    planners = _native.Planner(executed=executed), fakes.Planner(executed=fakes.GtidSet(members=frozenset(done)))
    skipped = 0
    for batch, sets, stands in Log(demo_log).batches():
        native = planners[0].plan(batch, sets, merge=4, max_bytes=1 << 30, committed=0)
        standing = planners[1].plan(stands, stands.write_sets(fakes.Catalog()), merge=4, max_bytes=1 << 30, committed=0)
        assert [shown(block) for block in standing] == [shown(block) for block in native]
        skipped += sum(block.skipped for block in native)
    assert skipped == len(done)


def test_sums_are_the_same(demo_log: Path) -> None:
    (batch, sets, stands), *_ = Log(demo_log).batches()
    native = _native.Block.sums(_native.Planner().plan(batch, sets, merge=4, max_bytes=1 << 30, committed=0))
    blocks = fakes.Planner().plan(stands, stands.write_sets(fakes.Catalog()), merge=4, max_bytes=1 << 30, committed=0)
    standing = fakes.Block.sums(blocks)
    for name in ("transactions", "filtered", "skipped", "rows", "merged"):
        assert getattr(standing, name) == getattr(native, name), name
    assert all(str(gtid) in native.gtids for gtid in standing.gtids.members)
    assert len(native.gtids) == len(standing.gtids)


class TestGtidSets:
    GTIDS = tuple(f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}" for number in (3, 1, 2, 9))

    @pytest.fixture(params=[_native.GtidSet, fakes.GtidSet], ids=["native", "stand-in"])
    def kind(self, request: pytest.FixtureRequest) -> Any:
        return request.param

    def test_union_and_membership(self, kind: Any) -> None:
        a, b, c, d = self.GTIDS
        both = kind(a) | kind(b)
        assert a in both
        assert b in both
        assert c not in both
        assert len(both) == 2
        both.update(kind(f"{c},{d}"))
        assert (c in both, d in both, len(both)) == (True, True, 4)

    def test_a_set_of_nothing_is_false(self, kind: Any) -> None:
        assert not kind("")
        assert not kind()
        assert kind(self.GTIDS[0])

    def test_what_is_no_set_is_an_error(self, kind: Any) -> None:
        with pytest.raises(UsageError, match="malformed GTID text"):
            kind("broken")

    def test_its_text_gives_it_again(self, kind: Any) -> None:
        whole = kind(",".join(self.GTIDS))
        again = kind(str(whole))
        assert (len(again), str(again)) == (len(whole), str(whole))


def public(kind: type) -> set[str]:
    """Return the names that a class offers; what only a dataclass gives its own tests are no methods."""
    fields = set(getattr(kind, "__dataclass_fields__", ()))
    return fields | {name for name in vars(kind) if not name.startswith("_")}


#: Members that only the stand-ins have: their contents, and switches of tests.
OWN = {
    "GtidSet": {"members"}, "Transaction": {"ordinal", "keys", "gaps", "gaps_first"}, "Block": {"waits"}, "Catalog": {"tables"},
    "LogReader": {"logs", "delay"},
}  # fmt: skip


@pytest.mark.parametrize("name", ["GtidSet", "Transaction", "Statement", "Format", "Block", "Catalog", "LogReader", "Planner", "LogHead"])
def test_a_stand_in_has_no_name_that_the_native_class_lacks(name: str) -> None:
    assert public(getattr(fakes, name)) - OWN.get(name, set()) - public(getattr(_native, name)) == set()


@pytest.mark.parametrize(("stand_in", "native"), [(fakes.Batch, _native.TransactionBatch), (fakes.WriteSets, _native.WriteSets),
                                                  (fakes.Sums, _native.BlockSums)])  # fmt: skip
def test_so_do_those_of_other_names(stand_in: type, native: type) -> None:
    assert public(stand_in) - {"batch"} - public(native) == set()


@pytest.mark.parametrize(
    "method", [(fakes.Planner, "plan"), (fakes.Batch, "write_sets"), (fakes.Batch, "corrected"), (fakes.LogReader, "next_batch")],
    ids=lambda method: method[1],
)  # fmt: skip
def test_methods_take_the_same_arguments(method: tuple[type, str]) -> None:
    kind, name = method
    native = getattr(_native, {"Batch": "TransactionBatch"}.get(kind.__name__, kind.__name__))
    assert list(inspect.signature(getattr(kind, name)).parameters) == list(inspect.signature(getattr(native, name)).parameters)
