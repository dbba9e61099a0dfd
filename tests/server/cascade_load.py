"""Random tables whose foreign keys cascade, and statements that change parents and children at once."""

from __future__ import annotations

import random

__all__ = ["CascadeLoad"]

ON_DELETE = ["", " ON DELETE CASCADE", " ON DELETE CASCADE", " ON DELETE CASCADE", " ON DELETE SET NULL"]
ON_UPDATE = ["", " ON UPDATE CASCADE", " ON UPDATE CASCADE", " ON UPDATE SET NULL"]
#: Tables, and in which of the two databases they stand.
TABLES = {"p0": 0, "p1": 0, "c0": 0, "c1": 1, "c2": 0, "g": 1}
#: Tables that a child may refer to.
PARENTS = {"c0": ["p0", "p1"], "c1": ["p0", "p1"], "c2": ["p0", "c0", "c1"], "g": ["c0", "c1", "c2", "p1"]}
KEYS = ["id", "u"]


class CascadeLoad:
    """Parents ``p0`` and ``p1``, children in two databases, children of children, tables that refer to themselves.

    Every table has the columns ``id``, ``u`` (a second key), ``a`` and ``b`` (references) and ``n``. Children may have no key at all.

    Args:
        seed: The same seed makes the same load.
        triggers: True if some tables get triggers.
    """

    def __init__(self, seed: int, *, triggers: bool = True) -> None:
        self._draw = random.Random(seed)
        self.databases = (f"casc_{seed}", f"casc_{seed}_other")
        self.setup = [f"CREATE DATABASE {database}" for database in self.databases] + [f"USE {self.databases[0]}"]
        for table in TABLES:
            self.setup.append(self._create(table))
        self.setup.append(f"CREATE TABLE {self.databases[0]}.noted (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(20), ref INT)")
        if triggers and self._draw.random() < 0.6:
            self._trigger(self._draw.choice(["p0", "p1", "c0", "c1"]))
        # The parents have every number that a child may refer to.
        numbers = [f"({number}, {7 - number}, NULL, NULL, 0)" for number in range(1, 7)]
        self.setup += [f"INSERT INTO {self._name(name)} (id, u, a, b, n) VALUES {row}" for name in ("p0", "p1") for row in numbers]
        self.setup += [self._insert(table) for table in PARENTS for _ in range(5)]

    def _create(self, table: str) -> str:
        draw = self._draw
        # What nobody refers to may do without keys.
        keyless = table == "g" and draw.random() < 0.5
        keys = ["id INT", "u INT"] if keyless else ["id INT PRIMARY KEY", "u INT, UNIQUE KEY (u)"]
        columns = [*keys, "a INT", "b INT", "n INT"]
        if draw.random() < 0.3:
            columns.append(draw.choice(["v INT AS (a + 1) VIRTUAL", "v INT AS (n + 1) STORED"]))
        constraints = []
        for column in ("a", "b"):
            parents = PARENTS.get(table, [table] if draw.random() < 0.3 else [])
            if parents and draw.random() < 0.85:
                parent = draw.choice(parents)
                key = draw.choice(KEYS)
                actions = draw.choice(ON_DELETE) + draw.choice(ON_UPDATE)
                constraints.append(f"FOREIGN KEY ({column}) REFERENCES {self._name(parent)} ({key}){actions}")
        return f"CREATE TABLE {self._name(table)} ({', '.join(columns + constraints)})"

    def _trigger(self, table: str) -> None:
        draw = self._draw
        event = draw.choice(["BEFORE DELETE", "AFTER DELETE", "BEFORE UPDATE", "AFTER UPDATE"])
        other = draw.choice([name for name in ("c0", "c1", "c2", "g") if name != table])
        action = draw.choice([
            f"INSERT INTO {self.databases[0]}.noted (what, ref) VALUES ('{table}', OLD.id)",
            f"DELETE FROM {self._name(other)} WHERE n = OLD.n",
            f"UPDATE {self._name(other)} SET n = n + 1 WHERE id = OLD.id",
        ])  # fmt: skip
        self.setup.append(f"CREATE TRIGGER {self.databases[TABLES[table]]}.tr {event} ON {self._name(table)} FOR EACH ROW {action}")

    def changes(self, count: int) -> list[str]:
        """Return statements, of which many fail."""
        return [self._change() for _ in range(count)]

    def _change(self) -> str:
        draw = self._draw
        kind = draw.choices(["insert", "replace", "delete", "update", "delete2", "update2", "odku", "select"], [5, 5, 2, 2, 4, 2, 1, 1])[0]
        table = draw.choice(list(TABLES))
        name = self._name(table)
        match kind:
            case "insert":
                return self._insert(table)
            case "replace":
                table = draw.choice(["p0", "p1", "p0", "p1", "c0", "c1", "c2", "g"])
                # A new row may refer to the row that it takes the place of; the server lets it, and is left with an open reference.
                rows = ", ".join(self._row(table, references=table in PARENTS) for _ in range(draw.choice([1, 1, 2, 3])))
                return f"REPLACE INTO {self._name(table)} (id, u, a, b, n) VALUES {rows}"
            case "delete":
                return f"DELETE FROM {name} WHERE id {draw.choice(['=', '<', '>'])} {self._id()}"
            case "update":
                return f"UPDATE {name} SET {draw.choice(['id', 'u', 'n', 'a'])}={self._id()} WHERE id={self._id()}"
            case "odku":
                return f"{self._insert(table)} ON DUPLICATE KEY UPDATE {draw.choice(['id', 'u', 'n'])}={self._id()}"
            case "select":
                table = draw.choice(["p0", "p1"])
                return f"REPLACE INTO {self._name(table)} (id, u, a, b, n) SELECT id, u, a, b, n+1 FROM {self._name(table)}"
        parent, child = draw.choice([(parent, child) for child, parents in PARENTS.items() for parent in parents])
        first, second = draw.sample([f"{self._name(parent)} AS x", f"{self._name(child)} AS y"], 2)
        on = draw.choice(["y.a=x.id", "y.b=x.id", "y.a=x.u", "TRUE"])
        where = f"x.id {draw.choice(['=', '<'])} {self._id()}"
        if kind == "delete2":
            tables = draw.choice(["x, y", "y, x", "x, y", "x", "y"])
            return f"DELETE {tables} FROM {first} STRAIGHT_JOIN {second} ON {on} WHERE {where}"
        sets = draw.choice(["x.id=x.id+10, y.n=y.n+1", "x.u=x.u+10, y.id=y.id+10", "y.n=y.n+1, x.id=x.id+20", "x.n=5, y.a=NULL"])
        return f"UPDATE {first} STRAIGHT_JOIN {second} ON {on} SET {sets} WHERE {where}"

    def _name(self, table: str) -> str:
        return f"{self.databases[TABLES[table]]}.{table}"

    def _id(self) -> int:
        return self._draw.randrange(1, 7)

    def _row(self, table: str, *, references: bool = True) -> str:
        own = references and (table in PARENTS or self._draw.random() < 0.3)
        refers_to = [str(self._id()) if own and self._draw.random() < 0.85 else "NULL" for _ in range(2)]
        second = self._id() if self._draw.random() < 0.9 else "NULL"
        return f"({self._id()}, {second}, {', '.join(refers_to)}, {self._draw.randrange(3)})"

    def _insert(self, table: str) -> str:
        return f"INSERT INTO {self._name(table)} (id, u, a, b, n) VALUES {self._row(table)}"
