"""A load like TPC-C: its nine tables with foreign keys, and its three transactions that write.

Tables, columns and transactions are those of the TPC-C specification, revision 5.11, clauses 1.3 and 2
(https://www.tpc.org/tpc_documents_current_versions/pdf/tpc-c_v5.11.0.pdf). It is no TPC-C: the tables are smaller (a tenth of the items,
customers and orders), nobody waits between two transactions, and what only reads is left out, as it leaves nothing in a log. ``history``
has a key of its own, without which Group Replication takes no table.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random

from paraply.bench.loads.load import Load, Session, rows

__all__ = ["WAREHOUSES", "tpcc_load"]

WAREHOUSES = 2
"""Default number of warehouses."""
_ITEMS = 10_000
_DISTRICTS = 10
_CUSTOMERS = 300
_ORDERS = _CUSTOMERS
_DELIVERED = _ORDERS * 7 // 10
_NEW_ORDER, _PAYMENT = 45 / 92, 88 / 92
"""Shares of the transactions, as in clause 5.2.3 without those that only read; the rest are deliveries."""

_SCHEMA = """
CREATE TABLE warehouse (w_id SMALLINT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20),
  w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2), PRIMARY KEY (w_id));
CREATE TABLE district (d_id TINYINT NOT NULL, d_w_id SMALLINT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20),
  d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT,
  PRIMARY KEY (d_w_id, d_id), FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id));
CREATE TABLE customer (c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id SMALLINT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2),
  c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16),
  c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4), c_balance DECIMAL(12,2),
  c_ytd_payment DECIMAL(12,2), c_payment_cnt SMALLINT, c_delivery_cnt SMALLINT, c_data VARCHAR(500),
  PRIMARY KEY (c_w_id, c_d_id, c_id), KEY (c_w_id, c_d_id, c_last, c_first),
  FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id));
CREATE TABLE history (h_id BIGINT NOT NULL AUTO_INCREMENT, h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT,
  h_w_id SMALLINT, h_date DATETIME, h_amount DECIMAL(6,2), h_data VARCHAR(24), PRIMARY KEY (h_id),
  FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id),
  FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id));
CREATE TABLE orders (o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT, o_entry_d DATETIME,
  o_carrier_id TINYINT, o_ol_cnt TINYINT, o_all_local TINYINT, PRIMARY KEY (o_w_id, o_d_id, o_id), KEY (o_w_id, o_d_id, o_c_id, o_id),
  FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id));
CREATE TABLE new_order (no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id SMALLINT NOT NULL,
  PRIMARY KEY (no_w_id, no_d_id, no_o_id), FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id));
CREATE TABLE item (i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50), PRIMARY KEY (i_id));
CREATE TABLE stock (s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT, {districts}, s_ytd DECIMAL(8,0),
  s_order_cnt SMALLINT, s_remote_cnt SMALLINT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id), KEY (s_i_id),
  FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id), FOREIGN KEY (s_i_id) REFERENCES item (i_id));
CREATE TABLE order_line (ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL, ol_number TINYINT NOT NULL,
  ol_i_id INT, ol_supply_w_id SMALLINT, ol_delivery_d DATETIME, ol_quantity TINYINT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24),
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number), KEY (ol_supply_w_id, ol_i_id),
  FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id),
  FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id))"""


def tpcc_load(warehouses: int = WAREHOUSES) -> Load:
    """Return the load.

    Args:
        warehouses: Number of warehouses; each has ten districts, and 10,000 items in stock.
    """
    districts = ", ".join(f"s_dist_{number:02} CHAR(24)" for number in range(1, _DISTRICTS + 1))
    schema = _SCHEMA.replace("{districts}", districts)
    return Load("tpcc", "like TPC-C", 1.0, schema, partial(_fill, warehouses), partial(_transaction, warehouses))


def nurand(draw: Random, spread: int, low: int, high: int) -> int:
    """Return a number that is not evenly distributed (clause 2.1.6), with the constant 123.

    >>> low, high = 1, 300
    >>> all(low <= nurand(Random(seed), 255, low, high) <= high for seed in range(500))
    True
    """
    return ((draw.randint(0, spread) | draw.randint(low, high)) + 123) % (high - low + 1) + low


def _text(draw: Random, length: int) -> str:
    return f"{draw.getrandbits(4 * length):0{length}x}"


def _address(draw: Random) -> str:
    return f"'{_text(draw, 16)}','{_text(draw, 16)}','{_text(draw, 12)}','CA','{draw.randrange(10**4):04}11111'"


def _fill(warehouses: int) -> Iterator[str]:
    """Yield the inserts of all tables, parents first."""
    draw = Random(1)
    prices = [draw.randint(100, 10_000) / 100 for _ in range(_ITEMS)]
    yield from rows("item", [f"({n},{n},'item-{_text(draw, 12)}',{prices[n - 1]},'{_text(draw, 30)}')" for n in range(1, _ITEMS + 1)])
    for w in range(1, warehouses + 1):
        yield f"INSERT INTO warehouse VALUES ({w},'w-{w}',{_address(draw)},{draw.randint(0, 2000) / 10_000},300000)"
        info = ",".join(f"'{_text(draw, 24)}'" for _ in range(_DISTRICTS))
        values = [f"({n},{w},{draw.randint(10, 100)},{info},0,0,0,'{_text(draw, 30)}')" for n in range(1, _ITEMS + 1)]
        yield from rows("stock", values)
        for d in range(1, _DISTRICTS + 1):
            tax = draw.randint(0, 2000) / 10_000
            yield f"INSERT INTO district VALUES ({d},{w},'d-{d}',{_address(draw)},{tax},30000,{_ORDERS + 1})"
            yield from _fill_district(draw, w, d, prices)


def _fill_district(draw: Random, w: int, d: int, prices: list[float]) -> Iterator[str]:
    """Yield the customers of a district, each with a payment and an order."""
    numbers = range(1, _CUSTOMERS + 1)
    customers = [_customer_row(draw, w, d, c) for c in numbers]
    yield from rows("customer", customers)
    columns = "(h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)"
    yield from rows(f"history {columns}", [f"({c},{d},{w},{d},{w},'2026-01-01',10,'{_text(draw, 16)}')" for c in numbers])
    orders, new, lines = [], [], []
    for o, c in enumerate(draw.sample(numbers, _ORDERS), 1):
        count, delivered = draw.randint(5, 15), o <= _DELIVERED
        orders.append(f"({o},{d},{w},{c},'2026-01-01',{draw.randint(1, 10) if delivered else 'NULL'},{count},1)")
        if not delivered:
            new.append(f"({o},{d},{w})")
        for number in range(1, count + 1):
            i, at = draw.randint(1, _ITEMS), "'2026-01-01'" if delivered else "NULL"
            lines.append(f"({o},{d},{w},{number},{i},{w},{at},5,{0 if delivered else prices[i - 1]},'{_text(draw, 24)}')")
    yield from rows("orders", orders)
    yield from rows("new_order", new)
    yield from rows("order_line", lines)


def _customer_row(draw: Random, w: int, d: int, c: int) -> str:
    credit, discount = "BC" if draw.random() < 0.1 else "GC", draw.randint(0, 5000) / 10_000
    person = f"'{_text(draw, 10)}','OE','{_text(draw, 10)}',{_address(draw)},'{draw.randrange(10**16):016}'"
    data = _text(draw, draw.randint(300, 500))
    return f"({c},{d},{w},{person},'2026-01-01','{credit}',50000,{discount},-10,10,1,0,'{data}')"


def _transaction(warehouses: int, session: Session) -> list[str]:
    draw, kind = session.draw, session.draw.random()
    w = draw.randint(1, warehouses)
    if kind < _NEW_ORDER:
        return _new_order(draw, warehouses, w)
    return _payment(draw, warehouses, w) if kind < _PAYMENT else _delivery(draw, w)


def _customer(draw: Random) -> int:
    return nurand(draw, 255, 1, _CUSTOMERS)


def _other(draw: Random, warehouses: int, w: int, share: float) -> int:
    """Return another warehouse for a share of the cases, if there is one."""
    if warehouses == 1 or draw.random() >= share:
        return w
    other = draw.randint(1, warehouses - 1)
    return other + (other >= w)


def _new_order(draw: Random, warehouses: int, w: int) -> list[str]:
    """Return a new order (clause 2.4)."""
    d, where = draw.randint(1, _DISTRICTS), f"d_w_id={w} AND d_id="
    lines = sorted({(_other(draw, warehouses, w, 0.01), nurand(draw, 1023, 1, _ITEMS)) for _ in range(draw.randint(5, 15))})
    local = int(all(supply == w for supply, _ in lines))
    statements = [
        f"SELECT d_next_o_id INTO @o FROM district WHERE {where}{d} FOR UPDATE",
        f"UPDATE district SET d_next_o_id=d_next_o_id+1 WHERE {where}{d}",
        f"INSERT INTO orders VALUES (@o,{d},{w},{_customer(draw)},NOW(),NULL,{len(lines)},{local})",
        f"INSERT INTO new_order VALUES (@o,{d},{w})",
    ]
    for number, (supply, item) in enumerate(lines, 1):
        quantity = draw.randint(1, 10)
        statements += [
            (
                f"UPDATE stock SET s_quantity=IF(s_quantity>={quantity + 10},s_quantity-{quantity},s_quantity+{91 - quantity}),"
                f" s_ytd=s_ytd+{quantity}, s_order_cnt=s_order_cnt+1, s_remote_cnt=s_remote_cnt+{int(supply != w)}"
                f" WHERE s_w_id={supply} AND s_i_id={item}"
            ),
            (
                f"INSERT INTO order_line SELECT @o,{d},{w},{number},i_id,{supply},NULL,{quantity},i_price*{quantity},s_dist_{d:02}"
                f" FROM item JOIN stock ON s_i_id=i_id WHERE i_id={item} AND s_w_id={supply}"
            ),
        ]
    return statements


def _payment(draw: Random, warehouses: int, w: int) -> list[str]:
    """Return a payment (clause 2.5); the customer is always named by its number."""
    d, amount = draw.randint(1, _DISTRICTS), draw.randint(100, 500_000) / 100
    c_w, c_d, c = _other(draw, warehouses, w, 0.15), draw.randint(1, _DISTRICTS), _customer(draw)
    note = f"{c} {c_d} {c_w} {d} {w} {amount}|"
    return [
        f"UPDATE warehouse SET w_ytd=w_ytd+{amount} WHERE w_id={w}",
        f"UPDATE district SET d_ytd=d_ytd+{amount} WHERE d_w_id={w} AND d_id={d}",
        (
            f"UPDATE customer SET c_balance=c_balance-{amount}, c_ytd_payment=c_ytd_payment+{amount}, c_payment_cnt=c_payment_cnt+1,"
            f" c_data=IF(c_credit='BC',LEFT(CONCAT('{note}',c_data),500),c_data) WHERE c_w_id={c_w} AND c_d_id={c_d} AND c_id={c}"
        ),
        (
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)"
            f" VALUES ({c},{c_d},{c_w},{d},{w},NOW(),{amount},'{_text(draw, 20)}')"
        ),
    ]


def _delivery(draw: Random, w: int) -> list[str]:
    """Return the delivery of each district's oldest new order (clause 2.7)."""
    carrier, statements = draw.randint(1, 10), []
    for d in range(1, _DISTRICTS + 1):
        order, lines = f"o_w_id={w} AND o_d_id={d} AND o_id=@o", f"ol_w_id={w} AND ol_d_id={d} AND ol_o_id=@o"
        statements += [
            f"SELECT MIN(no_o_id) INTO @o FROM new_order WHERE no_w_id={w} AND no_d_id={d} FOR UPDATE",
            f"DELETE FROM new_order WHERE no_w_id={w} AND no_d_id={d} AND no_o_id=@o",
            f"UPDATE orders SET o_carrier_id={carrier} WHERE {order}",
            f"UPDATE order_line SET ol_delivery_d=NOW() WHERE {lines}",
            (
                f"UPDATE customer SET c_balance=c_balance+(SELECT COALESCE(SUM(ol_amount),0) FROM order_line WHERE {lines}),"
                f" c_delivery_cnt=c_delivery_cnt+1 WHERE c_w_id={w} AND c_d_id={d} AND c_id=(SELECT o_c_id FROM orders WHERE {order})"
            ),
        ]
    return statements
