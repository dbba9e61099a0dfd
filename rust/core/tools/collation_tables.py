"""Asks real servers for their collation weights and writes the tables that ``paraply-core`` compiles in.

Run it again when a server release changes or adds a collation (it takes half an hour)::

    python rust/core/tools/collation_tables.py --mysql 127.0.0.1:3306 --mariadb-socket /path/to/socket

Then build the module, and run it once more with ``--pairs``: the pairs of the Rust test are made with the new tables.

Weights come from ``WEIGHT_STRING``. Sequences that weigh together are found by ``collation_contractions``. Whether the result is right
is not decided here: ``make collations`` compares it with the servers' ``=`` over all collations.

Needs ``pymysql`` and ``pyarrow`` (for zstd). Writes ``rust/core/data`` and ``rust/core/tests/data/collation_pairs.zst``.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from collation_charsets import CASE_FOLDING, byte_tables, encode_bytes, encode_folds, fold, gb18030_code_points
from collation_names import Listed, listed, same_name_lines
from collation_servers import Server
from collation_unicode import Table, ask, asked_of, encode, merged, same

CORE = Path(__file__).resolve().parent.parent


def save(path: Path, data: bytes, packed: bytes | None = None) -> None:
    """Compress a file, unless that is done, and write it."""
    packed = pack(data) if packed is None else packed
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed)
    print(f"{path.relative_to(CORE)}: {len(packed)} bytes ({len(data)} unpacked)", flush=True)


def pack(data: bytes) -> bytes:
    """Compress bytes."""
    return bytes(pa.Codec("zstd", compression_level=19).compress(data, asbytes=True))


def unicode_tables(server: Server, collations: list[Listed]) -> dict[str, Table]:
    """Ask one server for all tables that its collations need."""
    signatures: dict[str, dict[int, int]] = {}
    tables = {}
    for asked in asked_of(server, [collation.name for collation in collations]):
        tables[asked.name] = ask(server, asked, signatures, tables.get(str(asked.root)))
        print(f"{asked.name}: {len(tables[asked.name].pages)} pages, {len(tables[asked.name].contractions)} contractions", flush=True)
    return tables


def write_archive(tables: dict[str, Table]) -> None:
    """Write the archive of Unicode tables, roots first."""
    head, body, size = [], bytearray(), 0
    for name, table in sorted(tables.items(), key=lambda item: (item[1].asked.root is not None, item[0])):
        data = encode(table, tables[table.asked.root] if table.asked.root else None)
        packed = pack(data)
        head.append(f"{name} {table.asked.root or '-'} {len(packed)}")
        body += packed
        size += len(data)
    save(CORE / "data" / "unicode.bin", bytes(size), ("\n".join(head) + "\n\n").encode() + bytes(body))


def share(mysql: dict[str, Table], mariadb: dict[str, Table]) -> tuple[dict[str, Table], dict[str, str]]:
    """Return the tables of both families without duplicates, and the names that stand for others.

    Where both families have a collation of one name with different weights, there is a third table that holds for both.
    """
    tables = dict(mysql)
    stands_for: dict[str, str] = {}
    for name, table in mariadb.items():
        twin = name.replace("mariadb.", "mysql.")
        if twin in mysql and same(table, mysql[twin]):
            stands_for[name] = twin
            continue
        tables[name] = table
        if name.startswith("mariadb.") and twin in mysql:
            either = name.replace("mariadb.", "either.")
            tables[either] = merged(either, mysql[twin], table, mysql[str(table.asked.root)])
    return tables, stands_for


def write_all(mysql: Server, mariadb: Server, ours: dict[str, Table], theirs: dict[str, Table]) -> None:
    """Write all files except the test's pairs."""
    tables, stands_for = share(ours, theirs)
    write_archive(tables)
    weighed = byte_tables(mysql, mariadb)
    save(CORE / "data" / "bytes.zst", encode_bytes(weighed))
    save(CORE / "data" / "folds.zst", encode_folds({name: fold(mysql, charset) for charset, name in CASE_FOLDING.items()}))
    save(CORE / "data" / "gb18030.zst", gb18030_code_points(mysql))
    collations = listed(mysql) + listed(mariadb)
    for collation in collations:
        collation.decide(tables, stands_for, weighed)
    lines = same_name_lines(collations, tables) + [collation.line() for collation in collations]
    save(CORE / "data" / "names.zst", "\n".join(lines).encode())
    for collation in collations:
        if collation.rule == "unknown":
            print(f"{collation.name}: no table, whole-key")


def written(packed: bytes) -> list[Listed]:
    """Return the collations of a written list."""
    text = pa.input_stream(pa.BufferReader(packed), compression="zstd").read().decode()
    fields = [line.split("\t") for line in text.splitlines()]
    return [Listed(family, int(i), name, charset, pad == "pad", rule) for family, i, name, charset, pad, rule in fields if family != "both"]


def main() -> None:
    """Read the arguments, and write all files."""
    from collation_pairs import write_pairs

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mysql", default="127.0.0.1:3306", help="host:port of a MySQL 9 server")
    parser.add_argument("--user", default="app")
    parser.add_argument("--password", default="app")
    parser.add_argument("--mariadb-socket", required=True, help="socket of a MariaDB 10.10 or later")
    parser.add_argument("--mariadb-user", default="root")
    parser.add_argument("--pairs", action="store_true", help="write the pairs of the Rust test, not the tables")
    arguments = parser.parse_args()
    host, port = arguments.mysql.rsplit(":", 1)
    mysql = Server(host=host, port=int(port), user=arguments.user, password=arguments.password)
    mariadb = Server(mariadb=True, unix_socket=arguments.mariadb_socket, user=arguments.mariadb_user)
    for server in (mysql, mariadb):
        server.prepare()
    if arguments.pairs:
        write_pairs(mysql, mariadb, written((CORE / "data" / "names.zst").read_bytes()))
        return
    with ThreadPoolExecutor(2) as threads:
        tables = list(threads.map(lambda server: unicode_tables(server, listed(server)), (mysql, mariadb)))
    write_all(mysql, mariadb, *tables)
    print("Build the module now; then run this again with --pairs.")


if __name__ == "__main__":
    main()
