"""One seed: its schema, its load on the group, and the check of the members' relay logs."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

from paraply._native import MySqlConnection
from paraply.analysis.verify import VerifyReport, verify
from paraply.errors import ParaplyError

from .columns import COARSE_COLLATIONS, EXACT_COLLATIONS
from .members import Group, GroupBroken, Member, run_script
from .statements import ddl, transactions
from .tables import Options, Table, name, random_tables

__all__ = ["Result", "run_seed", "verify_kept"]

REJECTED = (3101, 1180)
CHECKS = ("on", "off", "mixed")
"""foreign_key_checks of the sessions. In mixed seeds parents are only inserted into, and the unchecked sessions write tables without
children, so that every row that a checked statement meets has its parent."""


@dataclass(slots=True)
class Result:
    """Result of a seed.

    Attributes:
        seed: Its number.
        mode: ``multi`` or ``single`` primary, with ``+ddl``.
        tables: Tables that the server took.
        transactions: Transactions compared, over all members' logs.
        rejected: Transactions that certification rolled back.
        different: Numbers that are not the server's.
        missed: Those where ours is smaller than the server's, and which R4 does not explain.
        by_r4: Those which R4 explains: on a member that writes too, its own transactions hide the number of a row's last change by
            another member (R4), and where a coarser form is used that of every row. On the member that only applies the numbers of the
            same transactions are not smaller.
        fallbacks: Coarser forms used.
        collections: Garbage collections found.
        seconds: Duration of the load.
        broken: True if a member could not apply what it had certified and left; its log up to there is compared.
        remarks: Reasons and first differences.
    """

    seed: int
    mode: str
    tables: int = 0
    transactions: int = 0
    rejected: int = 0
    different: int = 0
    missed: int = 0
    by_r4: int = 0
    fallbacks: int = 0
    collections: int = 0
    seconds: float = 0
    broken: bool = False
    remarks: list[str] = field(default_factory=list)

    @property
    def explained(self) -> bool:
        """True if every number is the server's, or larger where a coarser form was used."""
        return self.missed == 0 and (self.different == 0 or self.fallbacks > 0)


def run_seed(
    group: Group, seed: int, folder: Path, *, transactions: int, sessions: int, coarse: bool = False, with_ddl: bool = False
) -> Result:
    """Makes a seed's schema, runs its load and verifies the relay logs."""
    r = Random(seed)
    result = Result(seed, ("single" if group.single_primary else "multi") + "+ddl" * with_ddl)
    databases = [f"g{seed}", f"g{seed} ½ `b`"]
    collations = EXACT_COLLATIONS + COARSE_COLLATIONS * coarse
    loose = r.random() < 0.5
    options = Options(collations, expressions=coarse, cascades=group.single_primary, loose_parents=loose)
    begun = group.begin()
    observer = group.observer.server_id
    started = time.monotonic()
    tables = _create(group.members[0], databases, random_tables(r, databases, options, r.randint(6, 12)), result)
    group.settle()
    errors = _load(group, seed, tables, transactions, sessions, with_ddl)
    result.rejected = sum(errors[number] for number in REJECTED)
    try:
        group.settle()
    except (GroupBroken, ParaplyError) as error:
        result.broken = True
        result.remarks.append(f"the load broke the group: {error}")
    result.seconds = round(time.monotonic() - started, 1)
    result.remarks.append("errors " + ", ".join(f"{number}: {count}" for number, count in sorted(errors.items())))
    _keep(group, observer, begun, folder / f"seed{seed}", result)
    for database in databases if not result.broken else ():
        _drop(group.members[0].admin, database)
    return verify_kept(folder / f"seed{seed}")


def _drop(session: MySqlConnection, database: str) -> None:
    session.query(f"set foreign_key_checks = 0; drop database if exists {name(database)}; set foreign_key_checks = 1")


def _create(member: Member, databases: list[str], wanted: list[Table], result: Result) -> list[Table]:
    """Creates what the server takes; the rest is dropped from the seed."""
    session = member.connect()
    session.query("set restrict_fk_on_non_standard_key = off; set sql_mode = ''")
    for database in databases:
        _drop(session, database)
        session.query(f"create database {name(database)}")
    made = []
    for table in wanted:
        session.query(f"set sql_generate_invisible_primary_key = {int(table.generated_key)}")
        sql = table.create()
        if error := run_script(session, [sql]):
            result.remarks.append(f"not created ({error}): {sql}")
        else:
            made.append(table)
    result.tables = len(made)
    session.close()
    return made


def _load(group: Group, seed: int, tables: list[Table], count: int, sessions: int, with_ddl: bool) -> Counter[int]:
    errors: Counter[int] = Counter()
    lock = threading.Lock()
    done = threading.Event()

    checks = Random(f"{seed}/checks").choices(CHECKS, (65, 15, 20))[0]
    children = [table for table in tables if table.parents and not table.is_parent(tables)]
    still = (checks == "mixed" and children) or (not group.single_primary and seed % 2 == 1)
    frozen = {table.full_name for table in tables if table.is_parent(tables)} if still else ()

    def session(number: int) -> None:
        r = Random(f"{seed}/{number}")
        unchecked = checks == "off" or (checks == "mixed" and bool(children) and number % 3 == 2)
        connection = _session(group.writers[number % len(group.writers)], r, unchecked)
        mine = children if checks == "mixed" and unchecked else tables
        for body in transactions(r, mine, count // sessions, frozen):
            if error := run_script(connection, body):
                with lock:
                    errors[error] += 1
                run_script(connection, ["rollback"])

    def changes() -> None:
        r = Random(f"{seed}/ddl")
        connection = _session(group.writers[0], r, False)
        number = 0
        while not done.wait(0.3):
            number += 1
            if error := run_script(connection, [ddl(r, tables, number)]):
                with lock:
                    errors[error] += 1

    threads = [threading.Thread(target=session, args=(number,)) for number in range(sessions)]
    changer = threading.Thread(target=changes)
    for thread in [*threads, *([changer] if with_ddl else [])]:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    if with_ddl:
        changer.join()
    return errors


def _session(member: Member, r: Random, unchecked: bool) -> MySqlConnection:
    connection = member.connect()
    mode = r.choice(("''", "@@sql_mode"))
    connection.query(f"set foreign_key_checks = {int(not unchecked)}; set sql_mode = {mode}; set transaction_isolation = 'READ-COMMITTED'")
    connection.query("set innodb_lock_wait_timeout = 2; set lock_wait_timeout = 5")
    return connection


def _keep(group: Group, observer: int, begun: dict[int, int], folder: Path, result: Result) -> None:
    """Copies the relay logs, and what is known of the seed beside them."""
    for member in group.members[-1:] if group.single_primary else group.members[1:]:
        group.logs(member, begun, folder / str(member.server_id))
    facts = asdict(result) | {"observer": observer}
    (folder / "seed.json").write_text(json.dumps(facts, indent=1))


def verify_kept(folder: Path) -> Result:
    """Compares the kept relay logs of a seed: the observer's, then the writers' in its order (rule R4)."""
    facts = json.loads((folder / "seed.json").read_text())
    observer = facts.pop("observer")
    result = Result(**facts)
    order = _files(folder / str(observer))
    applied = verify(order, infer_gc=True)
    _take(result, f"member {observer}", applied, None)
    for other in sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name != str(observer)):
        if len(order) > 1:
            result.remarks.append(f"member {other}: not compared, the order is in {len(order)} files")
            continue
        report = verify(_files(folder / other), infer_gc=True, order=Path(order[0]), local_server_id=int(other))
        _take(result, f"member {other}", report, applied)
    return result


def _files(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.glob("relay-*")) if path.suffix[1:].isdigit()]


def _take(result: Result, log: str, report: VerifyReport, applied: VerifyReport | None) -> None:
    """Adds what ``verify`` says of a log; ``applied`` is what it says of the log of the member that only applies, if that is another."""
    result.transactions += report.transactions
    result.different += report.different
    by_r4 = report.missed if applied is not None and report.fallbacks and not applied.missed else 0
    result.by_r4 += by_r4
    result.missed += report.missed - by_r4
    result.fallbacks += report.fallbacks
    result.collections += len(report.gc_after)
    result.remarks += [f"{log}: {reason}" for reason in report.fallback_reasons]
    if report.first_difference:
        result.remarks.append(f"{log}: first of {report.different} different: {report.first_difference}")
        result.remarks += [f"{log}: {difference}" for difference in report.differences[1:10]]
