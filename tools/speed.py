"""Writes ``docs/reference/speed.md`` and its plots out of the results of ``paraply bench --loads ... --output FILE``.

Run as ``python tools/speed.py FILE...``: results of one server may come from several runs, each with some of the loads; those of
``--scale`` may be among them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from paraply.bench.chart import bars

DOCS = Path(__file__).resolve().parent.parent / "docs" / "reference"
HEAD = """# How fast

What `paraply bench --loads` measured, written by `tools/speed.py`: two cores and one disk, servers with
durable settings (every commit is forced to disk), loads of eight sessions that were made on the same server. Each replay ends with the
`CHECKSUM TABLE` of the source's tables. Seconds of the client pipeline and of paraply are those of the whole process, its start included;
those of the server's own applier go from its start to its idling. *Times the pipeline* and *times its own* are ratios of seconds within
one run; other machines give other seconds.

```
paraply bench --loads all --to mysql://root@127.0.0.1:3306 --reset --data /var/lib/mysql
paraply bench --loads all        # starts a MariaDB on a temporary folder
```

**What merging is worth, and what ordered commits cost.** In mode `record` up to 512 transactions become one commit into MariaDB,
256 into MySQL and 128 into PostgreSQL, which takes most of the time that a disk takes away. In mode `preserve` each transaction keeps its
own commit. At level `any-time` that commit is sent when the older one's is acknowledged, so it is forced to disk alone, and no number of
workers helps; a server's own applier keeps the order inside of the server, where commits still form groups. Level `most-of-the-time` sends
commits in order without waiting, `eventual` when they are ready; they form groups as the server's own do.

**How many to merge.** By itself (`--merge auto`) paraply takes what is best at the target where there is a backlog. Seconds of the whole
process with 8 workers, medians of rounds in turn, five for MariaDB and three for MySQL and the embedded PostgreSQL:

| target | load | off | 16 | 64 | 256 | 512 | auto |
|---|---|---:|---:|---:|---:|---:|---:|
| MariaDB | hot rows | 8.07 | 1.10 | 0.63 | 0.50 | 0.51 | 0.49 |
| | inserts | 7.81 | 0.95 | 0.56 | 0.49 | 0.48 | 0.47 |
| | large transactions | 2.36 | 1.78 | 1.76 | 1.77 | 1.82 | 1.80 |
| MySQL | hot rows | 10.43 | 1.41 | 0.77 | 0.58 | 0.56 | 0.59 |
| | inserts | 9.47 | 1.09 | 0.78 | 0.58 | 0.56 | 0.58 |
| | large transactions | 3.31 | 2.24 | 2.23 | 2.19 | 2.20 | 2.25 |
| PostgreSQL | hot rows | 10.39 | 1.70 | 1.09 | 0.90 | | 0.97 |
| | inserts | 9.35 | 1.06 | 0.70 | 0.63 | | 0.65 |
| | large transactions | 5.57 | 4.25 | 4.31 | 4.32 | | 4.34 |

Of large transactions a block takes 256 KB of log, so from 16 up all are the same, and their differences are those between rounds. The most
that is taken is each target's own, as larger blocks leave fewer to go side by side: an OLTP load takes MySQL 1.34 s with at most 256 and
1.46 s with 512 in a commit, and PostgreSQL 1.50 and 1.52 s with 128 and 256 (a real group's log 0.38 and 0.41 s); of
hot rows, where nothing can go side by side, it would take a fifteenth less. MariaDB gains up to 512, the more the farther away it is: hot
rows with 128, 256 and 512 take 1.31, 1.05 and 0.85 s with a round trip of a millisecond, and 3.69, 2.70 and 2.14 s with five.

**Blocks of many transactions side by side.** Of this OLTP mix, whose sessions draw from 2,000 customers and 1,000 products, four fifths of
the transactions of a block of 64 wait, themselves or through another one of their block, for a row of the block before; blocks that start
when all of that is committed are applied one after the other, and eight workers are as fast as one (6.8 s and 6.4 s). But only a sixth of
the *rows* wait. So rows go in by waves (see [the way of a transaction](../concepts/transactions.md)), and the two cores are busy.

**Foreign keys.** MySQL 9.7 opens the parent's table anew for every row of a child, and the children's for changes of a parent. With
merging and waves that was 4.7 of the 7.7 CPU seconds that the server took for the OLTP mix, and what bounded the replay; its own applier
pays for the same. Mode `record` asks once a block instead ([how](../targets/mysql.md#how-rows-get-there)): 2.7 CPU seconds of the server
are left, 1.9 of paraply's.

Two other ways to send ordered commits were tried on MySQL 9.7 and not kept:

| `preserve`, `any-time`, 8 workers, 6,013 transactions of the OLTP mix | seconds | redo log | binary log | queries | server CPU |
|---|---:|---:|---:|---:|---:|
| a commit is sent when the older one is acknowledged | 7.7 | 1.03 | 1.00 | 6.0 | 6.6 s |
| a commit is sent when the older one stands in the binary log | 9.2 | 1.03 | 0.98 | 10.0 | 9.7 s |

Forced writes and queries are for each transaction; a quiet machine, one run, when a transaction still took six statements.

1. *The place in the binary log.* `performance_schema.binary_log_transaction_compression_stats` names the GTID that was written last, before
   the write is forced to disk (with a delay of half a second between the two it showed the GTID after 8 ms, and the commit was
   acknowledged after 518 ms). So the next commit can be sent then, and still none can overtake another. But a server forces the redo log
   of a group to disk before it writes the group to the binary log, so a place is known one forced write later, and the next commit
   begins with one of its own: groups stay at one transaction, and asking four times a transaction takes the server's time. On a disk
   that was busy otherwise, where a commit took 7 ms, the same was a quarter faster (35 s against 47 s).
2. *Handing the turn over inside of the server.* Each session holds a lock by name (`GET_LOCK`) until its commit is through, and the next
   one's commit waits for that lock in the server, sent beforehand. That leaves out a way to the client and back for each commit, which
   is little beside two forced writes, and costs three statements: 46.2 s against 46.8 s on the busy disk.

What bounds the weaker levels where forced writes are fast is the CPU: in a quiet run of 6,013 transactions on two cores the server's own
applier took 5.5 s of CPU and 3.7 s of time, and `eventual` 7.2 s of the server's CPU, 3.7 s of paraply's and 6.5 s of time. Sixteen or 32
workers brought the groups to the size of the server's own and took no less time.

How much of that is left to gain from outside of the server was measured with a client in Rust that decodes nothing and takes no time of its
own: its statements are made beforehand, and it only sends each when what it needs is committed, on eight connections, sessions in their
order. It checks nothing and recovers from nothing. 25,013 transactions of the OLTP mix, on another quiet machine, seconds of time and of
the server's CPU:

| `preserve`, 8 connections | seconds | server CPU | binary log |
|---|---:|---:|---:|
| the server's own applier, 8 workers (five runs) | 7.5 to 8.3 | 9.9 to 11.1 s | 0.47 |
| paraply, `eventual` | 10.9 | 12.3 s | 0.53 |
| that client, commits as `eventual` sends them | 8.2 | 11.2 s | 0.49 |
| the same, without looking for another apply in each transaction | 7.8 to 8.6 | 10.4 s | 0.49 |
| the same, and each commit in one packet with the session's next rows | 7.6 | 9.6 s | 0.50 |
| paraply, `any-time` | 18.9 | 16.1 s | 1.00 |
| that client, commits as `any-time` sends them | 16.4 to 17.8 | 12.9 to 16.5 s | 1.00 |

So a client can come as far as the server's own applier at level `eventual`, and no further, and at `any-time` it cannot come near. Where a
replay may be logged as one commit for many transactions, `record` and `none` are the way to be faster than the server. Where each
transaction has to keep its GTID, the order has to be kept where commits form groups, inside of the server.

**Through the target's own replication.** That is what [`--via replication`](../targets/mysql.md#through-the-targets-own-replication) does:
the server's own workers apply, and paraply sends them the transactions with better numbers. The source's numbers of this OLTP mix let a
transaction start, on average, when the fifth before it is committed, because its tables have foreign keys, for which MySQL falls back to
the order of its own commits; paraply's, by rows and the rows they refer to, when the two thousandth is (half of them, when the four
hundredth is). So sixteen workers have something to do where the server's own stamps keep five busy, and groups become larger. Besides, the
rows of a transaction go over as one statement, with a sixth fewer events, and the channel keeps no positions (`GTID_ONLY`). A
`last_committed` of 0, which MySQL's applier takes for *not known*, makes it wait for everything before: with 3,000 of those in the log all
of the gain was lost, so an independent transaction names the first one of its file.

Nor may a number be as far back as it could. Where more transactions may start than there are workers, the server's coordinator looks for a
free one in a loop without a sleep (`get_least_occupied_worker` in its `sql/rpl_mts_submode.cc`), while for a `last_committed` it sleeps.
Numbers from two thousand back made it turn through all of a replay, for a quarter of the server's CPU on two cores. So none is further back
than there are workers. What starts when is the same, because commits are in order, and a worker is free when the one before is committed:

| OLTP mix, three rounds in turn, medians | seconds | server CPU |
|---|---:|---:|
| the server's own applier, 8 workers | 6.3 | 8.2 s |
| via replication, 8 workers, numbers as far back as can be | 6.8 | 10.2 s |
| the same, 8 back at most | 6.2 | 7.8 s |
| via replication, 16 workers, numbers as far back as can be | 6.6 | 9.3 s |
| the same, 16 back at most | 5.7 | 7.3 s |

The tables below are medians of three rounds; of MariaDB, the OLTP mix is, and the others are of one. In five more rounds of the OLTP mix
sixteen workers (the default of this way) were 1.12 to 1.22 times as fast as the server's own applier with eight, and eight workers 1.02 to
1.14 times; on inserts alone sixteen were 1.01 to 1.22 times as fast, in five rounds of their own.
Its own applier with sixteen is no faster than with eight, as the source's numbers leave the others idle. On hot rows, whose tables have no
foreign keys, the source's numbers are those of paraply, so nothing is gained there, and receiving is not for nothing; nor is starting a
process, for a load that is over soon.

**Large transactions** leave nothing to merge, and a commit is a small part of them: what remains is the server's CPU, the same for
everybody, and paraply's own on the same two cores. On MariaDB the 127 MB of a longer log of such transactions took the server 6.9 to 9.0 s
of CPU through paraply and 6.4 to 8.3 s through its own applier, and paraply 1.4 to 1.5 s, of which a third of a second is the start of a
process: 4.6 to 5.8 s of time, and 3.8 to 4.8 s for its own applier, in four pairs.
"""
SCALE = """
## How it scales with workers

`paraply bench --scale` ([E1 of WL#4648](https://dev.mysql.com/worklog/task/?id=4648)): {transactions:,} transactions without conflicts,
unmerged, at level `eventual`, with the target behind a proxy on loopback that holds each request back; with a round trip of a millisecond
the medians of two rounds (`--rounds 2`). *Of linear* is the share of a linear speed-up; *CPUs* is the share of both cores that server,
paraply and proxy kept busy together meanwhile, waits for the disk left out. *Linear needs* is the share of the cores that a linear speed-up
would take, at the CPU that a transaction took here: above 100 % it cannot be had, and where it is above 125 %, not even four fifths of it.
*Plain clients* are as many connections that nothing coordinates: each runs its share of the very same statements, which are made
beforehand, one after the other. What they are short of a linear speed-up, no applier on this machine can have; they leave more of its cores
to the server, as nothing reads a log, keeps an order or makes statements beside it.

What ends a speed-up is told by having the server's data in memory, too (`/dev/shm`, with the same durable settings): there no commit waits
for a disk, and the speed-up stays near to linear up to sixteen workers, and with 32 ends at the cores, of which a linear one would need
more than there are. On this machine's disk a forced write takes 0.09 ms. A commit needs one, and with many workers waits for the one that
is under way first, so the speed-up bends while there is CPU left, and that of clients that nothing coordinates with it.
Farther away the cores fill later, and more workers go on being worth it. Before a transaction was a single statement of a
[series](../concepts/ordered-commit.md), it took two round trips or four answers, and the server a fifth more of the cores for it. The
tables of five milliseconds and of MySQL, whose transactions take more CPU, are of one round.

"""
GROUPS = """
### Commits in groups

How often the server forced its logs to disk for each transaction, by its own counters, and how many transactions went into one group.
At level `any-time` a commit is sent when the older one is acknowledged, so every group is one transaction; `record` does not log the
replay, so it has no groups.

"""

MYSQL = """
Where a load is ahead of the pipeline by less than on the others, its time is the server's CPU on two cores, and the pipeline's is forced
writes: the slower the disk, the larger the ratio.
"""
MARIADB = """
A MariaDB log does not name sessions, so all transactions of one server keep their order at every level: such a log is applied at
`any-time` whatever level is asked for, and commits form no groups. The last two rows of each table do the same: what they differ by is
what single runs here differ by. (Before, a weaker level kept the order too, and besides each transaction wrote a list of what was
committed ahead of a gap, which took 11.5 s of the apply's own CPU for 9.7 s and,
on a busy machine, twice the time.) The server's own applier does not log what it applies (`log_slave_updates` is off, its default).
"""


def main(paths: list[str]) -> int:
    """Writes the page."""
    servers: dict[str, dict[str, dict[str, Any]]] = {}
    scales: list[list[dict[str, Any]]] = []
    for path in paths:
        results = json.loads(Path(path).read_text(encoding="utf-8"))
        if "scale" in results:
            scales += by_server(results["scale"])
        if "loads" not in results:
            continue
        servers.setdefault(results["load_server"], {}).update({load["load"]: load for load in results["loads"]})
    parts = [HEAD]
    for version, loads in servers.items():
        name = "MariaDB" if "mariadb" in version.lower() else "MySQL"
        plot = f"speed-{name.lower()}.svg"
        (DOCS / plot).write_text(bars(f"Replays on {name} {version.split('-')[0]}", list(loads.values())), encoding="utf-8")
        parts.append(f"\n## {name} {version.split('-')[0]}\n\n![Transactions a second of each replay]({plot})\n")
        parts += [table(load) for load in loads.values()]
        parts += [GROUPS, groups(loads), MARIADB if name == "MariaDB" else MYSQL]
    if scales:
        parts += [SCALE.format(transactions=scales[0][0]["transactions"]), *map(scale_table, scales)]
    (DOCS / "speed.md").write_text("".join(parts), encoding="utf-8")
    return 0


def table(load: dict[str, Any]) -> str:
    """One load's replays."""
    replays = load["replays"]
    own = next((replay["seconds"] for replay in replays if "own applier" in replay["name"]), None)
    lines = [
        f"\n### {load['title'].capitalize() if load['title'].islower() else load['title']}\n",
        f"{load['transactions']:,} transactions, {load['log_bytes'] / 1e6:.1f} MB of log.\n",
        "| replay | seconds | transactions/s | times the pipeline | times its own | commits |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for replay in replays:
        times = f"{own / replay['seconds']:.2f}" if own else ""
        commits = f"{replay['commits']:,}" if replay["commits"] else ""
        figures = f"{replay['seconds']:.1f} | {replay['per_second']:,} | {replay['ratio']:.1f} | {times} | {commits}"
        lines.append(f"| {name_of(replay)} | {figures} |")
    return "\n".join(lines) + "\n"


def groups(loads: dict[str, dict[str, Any]]) -> str:
    """The counters of the first load."""
    load = next(iter(loads.values()))
    lines = ["| replay | redo log | binary log | a group |", "|---|---:|---:|---:|"]
    for replay in load["replays"]:
        syncs = replay["syncs"]
        lines.append(
            f"| {name_of(replay)} | {syncs['redo_per_transaction']:.2f} | {syncs['binlog_per_transaction']:.2f} | {syncs['group'] or ''} |"
        )
    return f"{load['title']}:\n\n" + "\n".join(lines) + "\n"


def by_server(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The rows of each server and storage."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["server"], row["storage"]), []).append(row)
    return list(groups.values())


def scale_table(rows: list[dict[str, Any]]) -> str:
    """Replays with the target some way off."""
    place = {"disk": ", its data on disk", "memory": ", its data in memory"}.get(rows[0]["storage"], "")
    lines = [
        f"{rows[0]['server']}{place}, a round trip of {rows[0]['round_trip']:.1f} ms:\n",
        "| workers | seconds | speed-up | of linear | CPUs | linear needs | plain clients, seconds | of linear |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {row['workers']} | {row['seconds']:.2f} | {row['speed_up']:.1f} | {percent(row['of_linear'])} | {percent(row['busy'])}"
            f" | {percent(row['linear_needs'])} | {row['plain']:.2f} | {percent(row['plain_of_linear'])} |"
            for row in rows
        ),
    ]
    return "\n".join(lines) + "\n\n"


def percent(share: float) -> str:
    """A share as text."""
    return f"{share:.0%}"


def name_of(replay: dict[str, Any]) -> str:
    """A replay's name; the pipeline's pipe sign would end the column."""
    name: str = replay["name"]
    decode, pipe, client = name.partition(" | ")
    return f"`{decode}` into `{client}`" if pipe else name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
