"""Random sequences of queries on one DataFrame give what the same queries give on the same data from Parquet.

Spark keeps one reader for each load, so whatever a query left there would be seen by the next one.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

import paraply
from tests.rotation import day_of_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark")

from pyspark.sql import functions as F  # noqa: N812

pytestmark = pytest.mark.spark
EXAMPLES = int(os.environ.get("PARAPLY_SPARK_SEQUENCES", "2"))
DAY = day_of_run()
"""Seed of the sequences: each day has others."""
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
FILTERS = {
    "transactions": [
        "position <= 10",
        "position > 45",
        "position between 7 and 30",
        "position = 3",
        "kind = 'ddl'",
        "kind in ('dml', 'empty')",
        "committed_at > timestamp'2030-01-01'",
        "committed_at < timestamp'2030-01-01'",
        "gtid = ''",
        "server_id > 1 and rows > 1",
        "file like '%1'",
    ],
    "rows": [
        "database = 'shop' and `table` = 'product'",
        "database = 'shop' and `table` = 'customer' and operation = 'insert'",
        "`table` in ('tag', 'orders')",
        "operation = 'delete'",
        "operation <> 'insert'",
        "position <= 20 and `row` = 1",
        "position > 1000000",
        "committed_at > timestamp'2030-01-01'",
    ],
    "events": ["type = 'Gtid'", "type in ('Query', 'Xid')", "offset > 9000", "size < 60", "server_id = 0", "gtid is null"],
}
#: Options that prune, and the condition with the same meaning.
PRUNED: dict[str, list[tuple[dict[str, str], str]]] = {
    "transactions": [
        ({"tables": "shop.product"}, "array_contains(tables, 'shop.product')"),
        ({"since": "SINCE"}, "committed_at >= timestamp'SINCE'"),
        ({"since": "SINCE", "until": "UNTIL"}, "committed_at >= timestamp'SINCE' and committed_at < timestamp'UNTIL'"),
        ({"gtids": "GTIDS"}, "gtid in (GTID_LIST)"),
        ({"at": "UNTIL"}, "position < FIRST_LATE"),
        ({"tables": "shop", "until": "UNTIL"}, "exists(tables, t -> t like 'shop.%') and committed_at < timestamp'UNTIL'"),
    ],
    "rows": [
        ({"tables": "shop.product,shop.tag"}, "`table` in ('product', 'tag')"),
        ({"tables": "shop.product", "since": "SINCE"}, "`table` = 'product' and committed_at >= timestamp'SINCE'"),
        ({"until": "UNTIL", "statements": "false"}, "committed_at < timestamp'UNTIL' and statement is null"),
        ({"gtids": "GTIDS"}, "gtid in (GTID_LIST)"),
        ({"at": "UNTIL"}, "position < FIRST_LATE"),
    ],
}
KEYS = {"transactions": ["position"], "rows": ["position", "row"], "events": ["file", "offset"]}
TRANSACTIONS = 60


@dataclass(frozen=True)
class Data:
    """The logs, and by mode the same rows as Parquet."""

    logs: Path
    parquet: dict[str, Path]
    words: dict[str, str]

    def fill(self, text: str) -> str:
        """Put times and GTIDs of the logs into a text."""
        for word, value in self.words.items():
            text = text.replace(word, value)
        return text


@pytest.fixture(scope="module")
def data(spark: SparkSession, demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Data:
    folder = tmp_path_factory.mktemp("sequences")
    content = demo_log.read_bytes()
    begins = [transaction.offset for transaction in itertools.islice(paraply.open_log(demo_log), TRANSACTIONS + 1)]
    half = begins[TRANSACTIONS // 2]
    logs = folder / "logs"
    logs.mkdir()
    (logs / "relay.000001").write_bytes(content[:half])
    (logs / "relay.000002").write_bytes(content[: begins[0]] + content[half : begins[-1]])
    for mode in FILTERS:
        load(spark, logs, mode).coalesce(1).write.parquet(str(folder / mode))
    return Data(logs, {mode: folder / mode for mode in FILTERS}, words_of(spark, folder / "transactions"))


def words_of(spark: SparkSession, transactions: Path) -> dict[str, str]:
    """Two commit times, some GTIDs, and the first position that is not before the second time."""
    rows = spark.read.parquet(str(transactions)).orderBy("position").select("position", "gtid", "committed_at").collect()
    times = sorted(row.committed_at for row in rows)
    since, until = times[len(times) // 4], times[3 * len(times) // 4]
    late = next(row.position for row in rows if row.committed_at >= until)
    chosen = [row.gtid for row in rows[5:50:9]]
    form = "%Y-%m-%dT%H:%M:%S.%fZ"
    listed = ", ".join(f"'{gtid}'" for gtid in chosen)
    words = {"SINCE": utc(since).strftime(form), "UNTIL": utc(until).strftime(form), "GTIDS": ",".join(chosen)}
    return words | {"GTID_LIST": listed, "FIRST_LATE": str(late)}


def utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def load(spark: SparkSession, logs: Path, mode: str, **options: str) -> DataFrame:
    return spark.read.format("binlog").options(mode=mode, split="8k", **options).load(str(logs))


def digest(frame: DataFrame) -> tuple[Any, ...]:
    """Return the number of rows, and a sum over the hashes of all their columns."""
    columns = [F.to_json(name) if kind.startswith("map") else F.col(name) for name, kind in frame.dtypes]
    return tuple(frame.agg(F.count("*"), F.sum(F.xxhash64(*columns).cast("decimal(20,0)"))).first() or ())


class Queries:
    """Kinds of queries; each makes the same of the source's DataFrame and of Parquet's."""

    def __init__(self, spark: SparkSession, mode: str, logs: Path, options: dict[str, str]) -> None:
        self._options = {name: value for name, value in options.items() if name != "at"}
        self._endless = "at" in options
        self._spark = spark
        self._mode = mode
        self._logs = logs

    def whole(self, frame: DataFrame, *_: str) -> Any:
        return digest(frame)

    def filtered(self, frame: DataFrame, one: str, _: str) -> Any:
        return digest(frame.where(one))

    def counted(self, frame: DataFrame, one: str, other: str) -> Any:
        return frame.where(one).count(), frame.where(f"not ({other})").count()

    def union(self, frame: DataFrame, one: str, other: str) -> Any:
        return digest(frame.where(one).unionAll(frame.where(other)))

    def join(self, frame: DataFrame, one: str, other: str) -> Any:
        keys = KEYS[self._mode]
        return digest(frame.where(one).select(keys).join(frame.where(other).select(keys), keys))

    def anti_join(self, frame: DataFrame, one: str, _: str) -> Any:
        keys = KEYS[self._mode]
        return digest(frame.join(frame.where(one), keys, "left_anti"))

    def cached(self, frame: DataFrame, one: str, other: str) -> Any:
        kept = frame.where(one).cache()
        try:
            return digest(kept), digest(frame.where(other)), digest(kept.where(other))
        finally:
            kept.unpersist()

    def explained(self, frame: DataFrame, one: str, other: str) -> Any:
        planned = frame.where(one)
        planned._jdf.queryExecution().executedPlan()  # type: ignore[operator]  # what explain() does, without printing it
        return digest(frame.where(other)), digest(planned)

    def written(self, frame: DataFrame, one: str, _: str) -> Any:
        folder = mkdtemp()
        frame.where(one).write.mode("overwrite").parquet(folder)
        return digest(self._spark.read.parquet(folder))

    def in_sql(self, frame: DataFrame, one: str, other: str) -> Any:
        frame.createOrReplaceTempView("changes")
        self._spark.sql(f"select count(*) from changes where {one}").collect()
        counts = f"select (select count(*) from changes where {one}), (select count(*) from changes where {other}), count(*) from changes"
        key = KEYS[self._mode][-1]
        inside = f"select count(*) from changes where {key} in (select {key} from changes where {one})"
        return tuple(self._spark.sql(counts).first() or ()), tuple(self._spark.sql(inside).first() or ())

    def streamed(self, frame: DataFrame, one: str, other: str) -> Any:
        """Several queries on each batch of a stream; beside it, the same on all of Parquet's rows."""
        if self._endless:  # a stream has no end
            return None
        if not frame.inputFiles():  # the source, whose logs a stream reads
            return self._followed(one, other)
        return [digest(frame.where(one)), digest(frame), digest(frame.where(other).unionAll(frame.where(one)))]

    def _followed(self, one: str, other: str) -> Any:
        found: list[Any] = []

        def take(batch: DataFrame, _: int) -> None:
            found.extend([digest(batch.where(one)), digest(batch), digest(batch.where(other).unionAll(batch.where(one)))])

        stream = self._spark.readStream.format("binlog").options(mode=self._mode, **self._options).load(str(self._logs))
        query = stream.writeStream.foreachBatch(take).option("checkpointLocation", mkdtemp()).trigger(availableNow=True).start()
        query.awaitTermination()
        return found


KINDS = sorted(name for name in vars(Queries) if not name.startswith("_"))
steps = st.tuples(st.sampled_from(KINDS), st.integers(0, 99), st.integers(0, 99))


@pytest.fixture
def pushdown(spark: SparkSession) -> Iterator[Callable[[bool], None]]:
    """Sets what lets Spark push filters, which some sessions have on for other sources."""
    yield lambda on: spark.conf.set(PUSHDOWN, str(on).lower())
    spark.conf.unset(PUSHDOWN)


def test_sequences_of_queries_are_those_on_parquet(spark: SparkSession, data: Data, pushdown: Callable[[bool], None]) -> None:
    @seed(DAY)
    @settings(max_examples=EXAMPLES, derandomize=False, database=None)
    @given(
        on=st.booleans(), mode=st.sampled_from(sorted(FILTERS)), sequence=st.lists(steps, min_size=3, max_size=5), choice=st.integers(0, 9)
    )
    def hold(on: bool, mode: str, sequence: list[tuple[str, int, int]], choice: int) -> None:
        pushdown(on)
        run(spark, data, mode, sequence, choice)

    print(f"PARAPLY_TEST_DAY={DAY}")
    hold()


def test_pushed_filters_are_not_kept(spark: SparkSession, data: Data, pushdown: Callable[[bool], None]) -> None:
    pushdown(True)
    changes = load(spark, data.logs, "rows")
    one, other = changes.where("database = 'shop' and `table` = 'product'"), changes.where("`table` = 'customer'")
    counts = one.count(), other.count(), changes.count()
    assert one.unionAll(other).count() == counts[0] + counts[1] > counts[0] > 0
    assert changes.where("committed_at > timestamp'2030-01-01'").count() == 0
    assert changes.count() == counts[2] == spark.read.parquet(str(data.parquet["rows"])).count()


@pytest.mark.parametrize("mode", sorted(PRUNED))
def test_options_prune_as_conditions_do(spark: SparkSession, data: Data, mode: str) -> None:
    copy = spark.read.parquet(str(data.parquet[mode]))
    whole = digest(copy)
    for options, condition in PRUNED[mode]:
        given = {name: data.fill(value) for name, value in options.items()}
        found, expected = digest(load(spark, data.logs, mode, **given)), digest(copy.where(data.fill(condition)))
        assert found == expected, (options, found, expected)
        assert 0 < found[0] < whole[0], options


def run(spark: SparkSession, data: Data, mode: str, sequence: list[tuple[str, int, int]], choice: int = 0) -> None:
    """Runs a sequence on one load, and beside it on Parquet; some loads leave out data by options."""
    pruned = [({}, "true"), *PRUNED.get(mode, ())]
    options, condition = pruned[choice % len(pruned)]
    given = {name: data.fill(value) for name, value in options.items()}
    changes = load(spark, data.logs, mode, **given)
    copy = spark.read.parquet(str(data.parquet[mode])).where(data.fill(condition))
    queries, filters = Queries(spark, mode, data.logs, given), FILTERS[mode]
    for kind, one, other in sequence:
        query = getattr(queries, kind)
        chosen = filters[one % len(filters)], filters[other % len(filters)]
        assert query(changes, *chosen) == query(copy, *chosen), (mode, kind, chosen)
    assert digest(changes) == digest(copy)
