"""The bench of loads on a real MariaDB: logs are made, replayed by all peers, and compared with the source's tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from required import missing
from servers import MariaDbServer

from paraply.bench.load_bench import LoadBench
from paraply.bench.loads import DATABASE, LOADS, loads_of
from paraply.bench.made_load import make_load
from paraply.bench.own_applier import OwnApplier
from paraply.bench.peers import Way, measure_ways, pipeline_for, replay_by_paraply
from paraply.bench.plain_clients import plain_seconds
from paraply.bench.postgres_server import EMBEDDED, postgres_server
from paraply.bench.scale import DATABASE as SCALE_DATABASE
from paraply.bench.scale import make_log, make_table, measure_scale, summarize
from paraply.bench.server import BenchServer, bench_server
from paraply.errors import ApplyFailed, ServerError

pytestmark = pytest.mark.mariadb


@pytest.fixture(scope="module")
def server():
    if not MariaDbServer.available():
        missing("needs MariaDB's server: apt-get install mariadb-server")
    with bench_server(None, reset=True) as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize("load", LOADS)
def test_every_way_replays_a_load(server: BenchServer, load: str):
    own = OwnApplier(server, server.data) if server.data else None
    bench = LoadBench(server, pipeline_for(server, None, None), own, [1, 4], transactions=80, seed=5, sizes=["3"])
    (result,) = bench.measure([LOADS[load]])
    assert result.transactions >= LOADS[load].count(80)
    names = [one.name for one in result.replays]
    assert names[:2] == ["mariadb-binlog | mariadb", "the server's own applier, 4 optimistic threads"]
    assert all(one.checksums == result.replays[0].checksums and one.checksums for one in result.replays)
    unmerged = next(one for one in result.replays if "preserve" in one.name)
    assert unmerged.commits == result.transactions
    threes = next(one for one in result.replays if one.name == "paraply, record, 4 workers, merge 3")
    assert result.transactions / 3 <= threes.commits < result.transactions
    assert unmerged.syncs.binlog >= LOADS[load].count(80)
    assert server.user_databases() == []


@pytest.mark.parametrize("load", ["foreign-keys", "hot-rows"])
def test_the_floor_leaves_the_same_tables_with_any_number_of_connections(server: BenchServer, load: str):
    bench = LoadBench(server, None, None, [4], transactions=300, seed=5, floor=(1, 3), brief=True, rounds=2)
    (result,) = bench.measure([LOADS[load]])
    replay, floor = result.replays
    assert (replay.name, floor.name) == ("paraply, record, 4 workers, merge auto", "the floor")
    assert floor.checksums == replay.checksums
    assert floor.connections in (1, 3)
    assert floor.floors == 1.0
    assert replay.floors is not None
    assert floor.commits < result.transactions < result.rows
    assert floor.server_cpu is not None
    assert floor.server_cpu > 0
    assert replay.cpu is not None
    counted = replay.cpu["start"] + sum(replay.cpu["stages"].values())
    assert 0.9 * replay.cpu["process"] < counted <= 1.01 * replay.cpu["process"]
    assert all(replay.cpu["stages"][stage] > 0 for stage in ("decode", "hash", "plan", "render", "send"))


@pytest.mark.postgres
def test_a_load_is_replayed_into_postgresql_too_and_its_floor_is_measured(server: BenchServer):
    with postgres_server(EMBEDDED) as postgres:
        bench = LoadBench(server, None, None, [4], transactions=200, seed=5, floor=(2,), brief=True, postgres=postgres)
        _, result = bench.measure([loads_of(warehouses=1, table_size=50)["sysbench-write-only"]])
        assert result.server == postgres.version
        assert [one.name for one in result.replays] == ["paraply, 4 workers, merge auto", "the floor"]
        assert result.replays[0].checksums == result.replays[1].checksums
        assert len(result.replays[0].checksums) == 8
        assert postgres.checksums() == {}


def test_other_tables_than_the_source_are_found(server: BenchServer, tmp_path):
    server.empty([DATABASE])
    made = make_load(server, LOADS["hot-rows"], transactions=10, seed=1, folder=tmp_path)
    wrong = made.checksums | {f"{DATABASE}.item": 1}
    ways = [Way("replay", partial(replay_by_paraply, server, [made.log], "--workers", "0"))]
    with pytest.raises(ApplyFailed, match="the tables after replay differ from those of the source"):
        list(measure_ways(server, ways, [DATABASE], wrong))
    server.empty([DATABASE])


def test_the_scale_is_measured_through_the_proxy_in_rounds(server: BenchServer):
    runs = list(measure_scale(server, workers=(1, 4), milliseconds=5.0, transactions=24, rounds=2))
    assert [(run.workers, run.transactions) for run in runs] == [(1, 24), (4, 24)] * 2
    assert all(run.round_trip >= 5 for run in runs)
    one, four = summarize(runs)
    assert one.seconds >= 24 * 0.005, "a commit goes along with the next one's rows"
    assert one.plain >= 24 * 0.005, "as that of a client that nothing coordinates"
    assert four.plain < one.plain
    assert (four.base, four.base_workers) == (one.seconds, 1)
    assert server.user_databases() == []


def test_clients_that_nothing_coordinates_run_every_transaction_of_the_log_once(server: BenchServer, tmp_path: Path):
    server.empty([SCALE_DATABASE])
    log = make_log(server, 10, tmp_path, None)
    made = server.checksums()
    for clients in (1, 3):
        server.empty([SCALE_DATABASE])
        make_table(server)
        assert plain_seconds(server, server.parsed.port, log, clients=clients) > 0
        assert server.checksums() == made
        last = server.query("SELECT MAX(ordinal) FROM paraply.progress GROUP BY slot ORDER BY 1")
        assert len(last) == clients, "each client stores how far it is"
        assert last[-1] > (9,)
    server.query("DELETE FROM paraply.progress")
    with pytest.raises(ServerError, match="Duplicate entry"):
        plain_seconds(server, server.parsed.port, log, clients=3)
    server.empty([SCALE_DATABASE])
