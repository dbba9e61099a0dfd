"""Compares the classes of equal texts that a server makes of a corpus with those that the equality forms make.

The server gives a hash of each text's weights, some thousand in one row, so that all code points of a collation take about a second.
Texts whose hashes are equal on one side and different on the other are asked again with ``=``, which decides. So are samples of pairs
that the weights call equal, and of those that they do not: where ``=`` answers otherwise than the weights, that is counted too.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from collation_proof import FIRST_PLANE, Asker, Result, collate, form

from paraply import _native

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from collation_texts import Corpus

DATABASE = "paraply_collations"
ROWS_A_STATEMENT = 20_000
TEXTS_A_ROW = 65_536
MOST_ASKED = 200_000
"""Of the texts that differ."""


@dataclass
class Leader:
    """Findings about a collation, for those of other character sets that should weigh the same: the texts are compared once.

    Attributes:
        server: Checksums of the server's weights of all texts, and of those in the first plane; None until they are needed.
        computed: Checksums of the forms, of the same.
        pairs: Places of texts that ``=`` was asked about.
    """

    server: tuple[int | None, int | None]
    computed: tuple[bytes, bytes]
    pairs: list[tuple[int, int]]


class Classes:
    """One server with its tables of texts.

    Args:
        asker: The server.
        database: Is made on it.
    """

    def __init__(self, asker: Asker, database: str = DATABASE) -> None:
        self.asker = asker
        self.database = database
        self.held: dict[str, int] = {}
        for sql in (
            "SET sql_log_bin=0",
            "SET SESSION group_concat_max_len=4000000",
            "SET SESSION sql_mode=''",
            f"DROP DATABASE IF EXISTS {database}",
            f"CREATE DATABASE {database}",
            f"USE {database}",
            "CREATE TABLE pairs (k INT PRIMARY KEY, i INT, j INT) ENGINE=InnoDB",
        ):
            self.execute(sql)

    def close(self) -> None:
        """Leaves nothing behind."""
        self.execute(f"DROP DATABASE {self.database}")

    def execute(self, sql: str) -> None:
        """Runs a statement."""
        with self.asker.connection.cursor() as cursor:
            cursor.execute(sql)

    def hold(self, corpus: Corpus) -> None:
        """Puts a corpus into a table, unless it is there."""
        if corpus.name in self.held:
            return
        self.execute(f"DROP TABLE IF EXISTS {corpus.name}")
        binary = "" if corpus.column == "binary" else f" COLLATE {corpus.column}_bin"
        length = max((len(text) for text in corpus.texts), default=1)
        self.execute(
            f"CREATE TABLE {corpus.name} (n INT PRIMARY KEY, one TINYINT NOT NULL, "
            f"s VARCHAR({length}) CHARACTER SET {corpus.column}{binary} NOT NULL) ENGINE=InnoDB"
        )
        literals = corpus.literals()
        self.execute("BEGIN")
        for start in range(0, len(literals), ROWS_A_STATEMENT):
            flags = corpus.in_first_plane[start : start + ROWS_A_STATEMENT]
            part = literals[start : start + ROWS_A_STATEMENT]
            rows = (f"({start + n},{flag:d},{text})" for n, (text, flag) in enumerate(zip(part, flags, strict=True)))
            self.execute(f"INSERT INTO {corpus.name} VALUES {','.join(rows)}")
        self.execute("COMMIT")
        self.held[corpus.name] = len(literals)
        # What is put together is in the order of the key; that it is so is seen here, because sorting would take half of the time.
        places = [row.split(b",") for row in self.put_together(corpus, "n", ",")]
        if [int(place) for row in places for place in row] != list(range(len(literals))):
            raise RuntimeError("the server puts rows together in another order than that of their key")

    def drop(self, corpus: Corpus) -> None:
        """Takes a corpus away."""
        self.execute(f"DROP TABLE {corpus.name}")
        del self.held[corpus.name]

    def weights(self, text: str, collation: str) -> str:
        """SQL with what a collation compares of a text: the weights of all its levels, without those of spaces that count for nothing."""
        levels = levels_of(collation) if self.asker.mariadb else []
        own = [f"WEIGHT_STRING({text}{collate(collation)}{level})" for level in [f" LEVEL {n}" for n in levels] or [""]]
        character_set = collation.split("_", 1)[0]
        space = "' '" if character_set == "binary" else f"CONVERT(' ' USING {character_set})"
        blank = [f"WEIGHT_STRING({space}{collate(collation)}{level})" for level in [f" LEVEL {n}" for n in levels] or [""]]
        pads = self.pads(collation)
        cut = [
            f"TRIM(TRAILING {b} FROM {w})" if pads or (n and "uca1400" in collation) else w
            for n, (w, b) in enumerate(zip(own, blank, strict=True))
        ]
        return cut[0] if len(cut) == 1 else f"CONCAT_WS(x'0000',{','.join(cut)})"

    def pads(self, collation: str) -> bool:
        """Return True if a collation ignores spaces at the end."""
        return collation != "binary" and "_nopad_" not in collation and (self.asker.mariadb or "_0900_" not in collation)

    def text(self, corpus: Corpus, character_set: str, table: str = "") -> str:
        """SQL with a text of a table in a character set."""
        column = f"{table}s"
        return column if character_set == corpus.column else f"CONVERT({column} USING {character_set})"

    def hashes(self, corpus: Corpus, collation: str, character_set: str) -> np.ndarray:
        """A hash of each text's weights; 0 for texts that the character set lacks."""
        self.hold(corpus)
        weights = self.weights(self.text(corpus, character_set), collation)
        digest = f"MD5({weights})" if self.asker.mariadb else f"SHA2({weights},224)"
        held = "one" if character_set in FIRST_PLANE else "1"
        digest = f"LEFT({digest},16)" if held == "1" else f"IF(one,LEFT({digest},16),'{'0' * 16}')"
        joined = b"".join(self.put_together(corpus, digest, ""))
        return np.frombuffer(bytes.fromhex(joined.decode()), np.dtype(">u8")).astype(np.uint64)

    def put_together(self, corpus: Corpus, expression: str, separator: str) -> Iterator[bytes]:
        """An expression's values for all texts in order, some thousand in one."""
        for start in range(0, len(corpus.texts), TEXTS_A_ROW):
            sql = f"SELECT GROUP_CONCAT({expression} SEPARATOR '{separator}') FROM {corpus.name} FORCE INDEX (PRIMARY)"
            ((row,),) = self.asker.rows(f"{sql} WHERE n BETWEEN {start} AND {start + TEXTS_A_ROW - 1}")
            yield row if isinstance(row, bytes) else str(row).encode()

    def checksum(self, corpus: Corpus, collation: str, character_set: str, first_plane: bool) -> int:
        """The sum of a checksum of each text's weights and place, over all texts or those in the first plane.

        One sum only, because the weights are what takes the time: two sums would have the server make them twice.
        """
        self.hold(corpus)
        weights = self.weights(self.text(corpus, character_set), collation)
        sql = f"SELECT SUM(CRC32(CONCAT(n,'.',{weights}))) FROM {corpus.name}{' WHERE one' if first_plane else ''}"
        return int(self.asker.rows(sql)[0][0])

    def equal(self, corpus: Corpus, collation: str, character_set: str, pairs: Sequence[tuple[int, int]]) -> list[bool]:
        """Return for each pair of indices True if the server calls its texts equal."""
        out: list[bool] = []
        one, other = (self.text(corpus, character_set, table) for table in ("a.", "b."))
        for start in range(0, len(pairs), ROWS_A_STATEMENT):
            part = pairs[start : start + ROWS_A_STATEMENT]
            self.execute("DELETE FROM pairs")
            self.execute("INSERT INTO pairs VALUES " + ",".join(f"({k},{i},{j})" for k, (i, j) in enumerate(part)))
            sql = (
                f"SELECT {one} = {other}{collate(collation)} FROM pairs STRAIGHT_JOIN {corpus.name} a ON a.n = i "
                f"STRAIGHT_JOIN {corpus.name} b ON b.n = j ORDER BY k"
            )
            out += [bool(row[0]) for row in self.asker.rows(sql)]
        return out

    def compare(self, result: Result, corpus: Corpus, sample: int) -> Leader:
        """Adds to a result what the server's classes and ours say of a corpus.

        Args:
            result: Names the collation.
            corpus: The texts.
            sample: Pairs of each kind, equal by their weights and not, that ``=`` is asked about.
        """
        server = self.hashes(corpus, result.collation, result.character_set)
        forms, known = self.forms(result, corpus)
        known &= server != 0
        result.texts += int(known.sum())
        suspects = list(differing(server, forms, known))[:MOST_ASKED]
        same, apart = sample_pairs(server, known, sample, random.Random(result.collation))
        self.ask(result, corpus, suspects + same + apart, server)
        return Leader((None, None), checksums_of(forms, known, corpus), (same + apart)[:: max(1, sample // 200)])

    def follow(self, result: Result, corpus: Corpus, leader: Leader, leading: str) -> bool:
        """Compares a collation with one of another character set that was compared: weights, forms, and ``=`` of some pairs.

        Returns:
            Whether weights and forms are the same, so that the classes are too.
        """
        plane = result.character_set in FIRST_PLANE
        if leader.server[plane] is None:
            total = self.checksum(corpus, leading, leading.split("_", 1)[0], plane)
            leader.server = (leader.server[0], total) if plane else (total, leader.server[1])
        forms, known = self.forms(result, corpus)
        if checksums_of(forms, known, corpus)[plane] != leader.computed[plane]:
            return False
        if self.checksum(corpus, result.collation, result.character_set, plane) != leader.server[plane]:
            return False
        result.texts += int(known.sum())
        self.ask(result, corpus, [(i, j) for i, j in leader.pairs if known[i] and known[j]], None)
        return True

    def forms(self, result: Result, corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
        """Hashes of the forms of all texts, and which have one."""
        values = corpus.values(result.character_set)
        computed = _native.equality_hashes(result.collation, values, self.asker.mariadb)
        known = np.asarray(computed.is_valid())
        result.formless += int((~known & np.asarray(values.is_valid())).sum())
        return np.asarray(computed.fill_null(0)), known

    def ask(self, result: Result, corpus: Corpus, pairs: Sequence[tuple[int, int]], server: np.ndarray | None) -> None:
        """Adds to a result what ``=`` and the forms say of pairs of texts."""
        values = corpus.values(result.character_set)
        for (i, j), equal in zip(pairs, self.equal(corpus, result.collation, result.character_set, pairs), strict=True):
            pair = (values[i].as_py(), values[j].as_py())
            result.asked += 1
            result.equal += equal
            result.unlike += server is not None and equal != (server[i] == server[j])
            # The forms themselves decide, not their hashes.
            if equal != (form(result.collation, pair[0], self.asker.mariadb) == form(result.collation, pair[1], self.asker.mariadb)):
                (result.missed if equal else result.coarsened).append(pair)


def checksums_of(forms: np.ndarray, known: np.ndarray, corpus: Corpus) -> tuple[bytes, bytes]:
    """Checksums of the forms of all texts, and of those in the first plane."""
    plane = forms[corpus.in_first_plane]
    return tuple(hashlib.blake2b(part.tobytes(), digest_size=16).digest() for part in (forms, plane))  # type: ignore[return-value]


def levels_of(collation: str) -> list[int]:
    """The levels that a collation of MariaDB compares; none for one that has a single level."""
    if "uca1400" in collation:
        return [1, *([2] if "_as_" in collation else []), *([3] if collation.endswith("_cs") else [])]
    return [1, 2] if collation.endswith("_w2") else []


def differing(server: np.ndarray, computed: np.ndarray, known: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs of texts that are equal on one side only: each text that leaves its class beside the first and the one before."""
    places = np.nonzero(known)[0]
    for one, other in ((server[places], computed[places]), (computed[places], server[places])):
        order = np.argsort(one, kind="stable")
        ordered, partner = one[order], other[order]
        # Neighbours first: most often there are none.
        apart = (ordered[1:] == ordered[:-1]) & (partner[1:] != partner[:-1])
        if not apart.any():
            continue
        begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        first = np.nonzero(begins)[0][np.cumsum(begins) - 1]
        after, wrong = np.nonzero(apart)[0] + 1, np.nonzero(partner != partner[first])[0]
        for left, right in ((after - 1, after), (first[wrong], wrong)):
            yield from zip(places[order[left]].tolist(), places[order[right]].tolist(), strict=True)


def sample_pairs(
    server: np.ndarray, known: np.ndarray, count: int, rng: random.Random
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Pairs of places with equal hashes, and pairs with different ones: near neighbours and any."""
    places = np.nonzero(known)[0]
    order = places[np.argsort(server[places], kind="stable")]
    alike = np.nonzero(server[order[1:]] == server[order[:-1]])[0]
    chosen = rng.sample(range(len(alike)), min(count, len(alike)))
    same = [(int(order[alike[n]]), int(order[alike[n] + 1])) for n in chosen]
    apart = []
    for n in range(count if len(places) > 1 else 0):
        i = rng.randrange(len(places))
        j = (i + rng.randint(1, 40)) % len(places) if n % 2 else rng.randrange(len(places))
        if server[places[i]] != server[places[j]]:
            apart.append((int(places[i]), int(places[j])))
    return same, apart
