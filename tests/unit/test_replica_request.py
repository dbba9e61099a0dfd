"""The GTID set in a replica's request: bytes that a replica or a stranger sends, so nothing in them is trusted."""

from __future__ import annotations

import pytest

from paraply.applier.via_replication.protocol import received_gtids
from paraply.errors import ConnectionLost

HEAD = bytes([0x1E]) + bytes(6) + bytes(4) + (4).to_bytes(8, "little")
UUID = bytes(range(16))
NAME = "00010203-0405-0607-0809-0a0b0c0d0e0f"


def number(value: int) -> bytes:
    return value.to_bytes(8, "little")


def asked(gtid_set: bytes) -> str:
    """Return the set of a request that holds these bytes."""
    return received_gtids(HEAD + len(gtid_set).to_bytes(4, "little") + gtid_set)


def test_a_set_with_and_without_tags_is_text() -> None:
    assert asked(number(1) + UUID + number(2) + number(1) + number(4) + number(7) + number(8)) == f"{NAME}:1-3,{NAME}:7-7"
    tagged = bytes([1]) + number(1)[:6] + b"\x01" + UUID + bytes([3 << 1]) + b"app" + number(1) + number(1) + number(3)
    assert asked(tagged) == f"{NAME}:app:1-2"
    assert asked(number(0)) == ""


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "gtid_set",
    [
        number(1 << 55),
        number((1 << 64) - 1),
        bytes(6) + b"\xff\x00",
        number(1) + UUID + number(1 << 55),
        number(1) + UUID + number(2) + number(1) + number(4),
        number(1) + UUID[:15],
        number(1) + UUID + number(1) + number(1) + number(4)[:7],
    ],
)
def test_counts_that_the_bytes_do_not_hold_end_the_connection(gtid_set: bytes) -> None:
    with pytest.raises(ConnectionLost, match="cut short"):
        asked(gtid_set)
