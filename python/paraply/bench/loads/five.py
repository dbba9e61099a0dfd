"""The five loads of the bench's own: a shop, hot rows, inserts, large transactions and foreign keys."""

from __future__ import annotations

from collections.abc import Iterator

from paraply.bench.loads.load import Load, Session, rows

__all__ = ["FIVE"]

_ROWS = 2000
_LARGE = 400
_CITIES = ("Paris", "paris", "Zürich", "ZURICH", "東京", "Oslo", "OSLO")
_WORDS = ("résumé", "Resume", "RESUME", "straße", "STRASSE", "apple", "Apple", "Æther", "ñandú", "NANDU", "日本", "にほん", "Å", "a", "A")

_OLTP = """
CREATE TABLE customer (id BIGINT PRIMARY KEY, email VARCHAR(80) NOT NULL UNIQUE,
  nick VARCHAR(40) COLLATE utf8mb4_bin UNIQUE, city VARCHAR(40) COLLATE utf8mb4_general_ci, balance DECIMAL(12,2) NOT NULL DEFAULT 0);
CREATE TABLE product (w INT, sku VARCHAR(20), qty INT NOT NULL, price DOUBLE, updated DATETIME(6), PRIMARY KEY (w, sku));
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer_id BIGINT NOT NULL, placed TIMESTAMP(3) NOT NULL, note TEXT, doc JSON,
  KEY (customer_id),
  FOREIGN KEY (customer_id) REFERENCES customer (id));
CREATE TABLE order_line (order_id BIGINT, n SMALLINT UNSIGNED, w INT, sku VARCHAR(20), amount INT, bin VARBINARY(16),
  flag BIT(3), kind ENUM('a','b','c'), tags SET('x','y','z'),
  PRIMARY KEY (order_id, n),
  FOREIGN KEY (order_id) REFERENCES orders (id),
  FOREIGN KEY (w, sku) REFERENCES product (w, sku));
CREATE TABLE counter (day DATE, tiny TINYINT UNSIGNED, hits INT UNSIGNED, PRIMARY KEY (day, tiny));
CREATE TABLE tag (word VARCHAR(30) COLLATE {collation} PRIMARY KEY, uses INT)"""


def _fill_oltp() -> Iterator[str]:
    nick = ("NULL", "'Nick{0}'", "'Nick{0}'")
    yield from rows("customer", [f"({n},'u{n}@example.org',{nick[n % 3].format(n)},'{_CITIES[n % len(_CITIES)]}',0)" for n in range(_ROWS)])
    yield from rows("product", [f"({w},'sku-{n}',100,{n * 1.5},NOW(6))" for w in range(4) for n in range(_ROWS // 8)])


def _oltp(session: Session) -> list[str]:
    draw, kind = session.draw, session.draw.random()
    if kind < 0.30:
        (one, other), amount = draw.sample(range(_ROWS), 2), draw.randint(1, 100)
        return [
            f"UPDATE customer SET balance=balance-{amount} WHERE id={one}",
            f"UPDATE customer SET balance=balance+{amount} WHERE id={other}",
        ]
    if kind < 0.60:
        return _order(session)
    if kind < 0.72:
        day = f"2026-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}"
        return [f"INSERT INTO counter VALUES ('{day}',{draw.randrange(200)},1) ON DUPLICATE KEY UPDATE hits=hits+1"]
    word = f"{draw.choice(_WORDS)}{draw.randrange(20)}"
    if kind < 0.80:
        return [f"INSERT INTO tag VALUES ('{word}',1) ON DUPLICATE KEY UPDATE uses=uses+1"]
    if kind < 0.84:
        return [f"DELETE FROM tag WHERE word='{word}'"]
    if kind < 0.90:
        email = f"U{draw.randrange(_ROWS * 2)}@Example.org"
        return [f"UPDATE customer SET city='{draw.choice(_CITIES)}', email='{email}' WHERE id={draw.randrange(_ROWS)}"]
    order = session.own()
    if kind < 0.95 and order is not None:
        return [f"DELETE FROM order_line WHERE order_id={order}", f"DELETE FROM orders WHERE id={order}"]
    return [f"UPDATE product SET price=price*1.01 WHERE w={draw.randrange(4)} AND sku BETWEEN 'sku-1' AND 'sku-11'"]


def _order(session: Session) -> list[str]:
    """Return an order with one to five lines."""
    draw, order = session.draw, session.next()
    note = draw.choice(["''", "NULL", f"'{'näïve' * draw.randint(1, 20)}'"])
    document = f'{{"k": {draw.randrange(9)}, "l": [1, 2, "x"]}}'
    statements = [f"INSERT INTO orders VALUES ({order},{draw.randrange(_ROWS)},NOW(3),{note},'{document}')"]
    for line in range(draw.randint(1, 5)):
        w, sku = draw.randrange(4), f"sku-{draw.randrange(_ROWS // 8)}"
        data = draw.randbytes(draw.randint(0, 16)).hex()
        kind, flag = draw.choice("abc"), draw.randrange(8)
        statements += [
            f"INSERT INTO order_line VALUES ({order},{line},{w},'{sku}',1,x'{data}',{flag},'{kind}','x,z')",
            f"UPDATE product SET qty=qty-1, updated=NOW(6) WHERE w={w} AND sku='{sku}'",
        ]
    return statements


def _hot_rows(session: Session) -> list[str]:
    """Return a sale: nine of ten take one of four items, and each is recorded."""
    draw = session.draw
    item = draw.randrange(4) if draw.random() < 0.9 else draw.randrange(4, _ROWS)
    return [
        f"UPDATE item SET qty=qty-1, sold=sold+1 WHERE id={item}",
        f"INSERT INTO movement VALUES ({session.next()},{item},{draw.randint(1, 9)},NOW(6))",
    ]


def _insert(session: Session) -> list[str]:
    draw = session.draw
    kind, user = draw.choice(("view", "click", "buy")), draw.randrange(100_000)
    return [f"INSERT INTO event VALUES ({session.next()},'{kind}',NOW(6),{user},'{draw.randbytes(draw.randint(20, 60)).hex()}')"]


def _large(session: Session) -> list[str]:
    """Return a transaction of some hundred rows of one sensor: new ones, changed ones, or deleted ones."""
    draw, kind, own = session.draw, session.draw.random(), session.own()
    if kind < 0.6 or own is None:
        series = session.next()
        values = [f"({series},{n},{draw.random() * 100:.3f},'{draw.choice(_CITIES)}')" for n in range(_LARGE)]
        return [f"INSERT INTO reading VALUES {','.join(values)}"]
    if kind < 0.9:
        return [f"UPDATE reading SET v=v+{draw.random():.3f}, note='checked' WHERE series={own}"]
    return [f"DELETE FROM reading WHERE series={own} AND n>={_LARGE // 2}"]


_TEAMS, _MEMBERS, _PROJECTS = 20, 400, 100
_FAMILY = """
CREATE TABLE team (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, score INT NOT NULL);
CREATE TABLE member (id INT PRIMARY KEY, team_id INT NOT NULL, name VARCHAR(40) NOT NULL, FOREIGN KEY (team_id) REFERENCES team (id));
CREATE TABLE project (id INT PRIMARY KEY, team_id INT NOT NULL, owner_id INT NOT NULL, state VARCHAR(10) NOT NULL,
  FOREIGN KEY (team_id) REFERENCES team (id),
  FOREIGN KEY (owner_id) REFERENCES member (id));
CREATE TABLE task (id BIGINT PRIMARY KEY, project_id INT NOT NULL, member_id INT NULL, title VARCHAR(80) NOT NULL,
  FOREIGN KEY (project_id) REFERENCES project (id),
  FOREIGN KEY (member_id) REFERENCES member (id));
CREATE TABLE comment (task_id BIGINT, n INT, member_id INT NOT NULL, body VARCHAR(200),
  PRIMARY KEY (task_id, n),
  FOREIGN KEY (task_id) REFERENCES task (id),
  FOREIGN KEY (member_id) REFERENCES member (id))"""


def _fill_family() -> Iterator[str]:
    yield from rows("team", [f"({n},'team {n}',0)" for n in range(_TEAMS)])
    yield from rows("member", [f"({n},{n % _TEAMS},'member {n}')" for n in range(_MEMBERS)])
    yield from rows("project", [f"({n},{n % _TEAMS},{n % _MEMBERS},'open')" for n in range(_PROJECTS)])


def _family(session: Session) -> list[str]:
    """Return a transaction on five tables in a tree: most write children, some write parents."""
    draw, kind, own = session.draw, session.draw.random(), session.own()
    member, project = draw.randrange(_MEMBERS), draw.randrange(_PROJECTS)
    if kind < 0.5 or own is None:
        task = session.next()
        comments = [f"INSERT INTO comment VALUES ({task},{n},{draw.randrange(_MEMBERS)},'{'x' * 60}')" for n in range(draw.randint(0, 3))]
        return [f"INSERT INTO task VALUES ({task},{project},{member},'task of {session.number}')", *comments]
    if kind < 0.70:
        return [f"INSERT IGNORE INTO comment SELECT id,{draw.randint(10, 99)},{member},'later' FROM task WHERE id={own}"]
    if kind < 0.82:
        return [f"UPDATE task SET member_id={member}, project_id={project} WHERE id={own}"]
    if kind < 0.90:
        return [f"DELETE FROM comment WHERE task_id={own}", f"DELETE FROM task WHERE id={own}"]
    if kind < 0.97:
        return [f"UPDATE project SET state='{draw.choice(('open', 'closed', 'late'))}', owner_id={member} WHERE id={project}"]
    return [f"UPDATE team SET score=score+1 WHERE id={draw.randrange(_TEAMS)}"]


def _fill_items() -> Iterator[str]:
    return rows("item", [f"({n},1000000,0)" for n in range(_ROWS)])


def _nothing() -> Iterator[str]:
    return iter(())


_ITEMS = """
CREATE TABLE item (id INT PRIMARY KEY, qty INT NOT NULL, sold INT NOT NULL);
CREATE TABLE movement (id BIGINT PRIMARY KEY, item INT NOT NULL, amount INT NOT NULL, at DATETIME(6) NOT NULL, KEY (item))"""
_EVENTS = """
CREATE TABLE event (id BIGINT PRIMARY KEY, kind VARCHAR(10) NOT NULL, at DATETIME(6) NOT NULL, user INT NOT NULL, payload VARCHAR(200),
  KEY (user),
  KEY (kind, at))"""
_READINGS = """
CREATE TABLE reading (series BIGINT, n INT, v DOUBLE NOT NULL, note VARCHAR(40), PRIMARY KEY (series, n))"""

FIVE = {
    load.name: load
    for load in (
        Load("oltp", "OLTP mix", 1.0, _OLTP, _fill_oltp, _oltp),
        Load("hot-rows", "hot rows", 1.0, _ITEMS, _fill_items, _hot_rows),
        Load("inserts", "insert only", 1.0, _EVENTS, _nothing, _insert),
        Load("large", "large transactions", 0.1, _READINGS, _nothing, _large),
        Load("foreign-keys", "foreign keys", 1.0, _FAMILY, _fill_family, _family),
    )
}
"""Loads by name."""
