"""Dates of row images as Arrow: what only the server can hold is null, and all else stays."""

from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa
import pytest

from paraply.analysis.dates import cast_image, cast_values

DAY = date(2024, 2, 29)


@pytest.mark.parametrize("odd", ["0000-01-01", "0000-12-31", "2024-02-31", "2023-02-29", "2024-04-31"])
def test_a_date_that_only_the_server_can_hold_is_null(odd: str) -> None:
    values = pa.array(["2024-02-29", odd, None, "0001-01-01", "9999-12-31"])
    assert cast_values(values, pa.date32()).to_pylist() == [DAY, None, None, date.min, date.max]
    moments = pa.array(["2024-02-29 10:00:00.5", f"{odd} 23:59:59.999999", "0001-01-01 00:00:00"])
    assert cast_values(moments, pa.timestamp("us")).to_pylist() == [datetime(2024, 2, 29, 10, microsecond=500_000), None, datetime.min]


def test_a_text_of_another_form_is_an_error() -> None:
    with pytest.raises(pa.ArrowInvalid):
        cast_values(pa.array(["2024-02-31", "tomorrow"]), pa.date32())


def test_an_image_keeps_its_nulls() -> None:
    kind = pa.struct([("id", pa.int32()), ("day", pa.date32())])
    rows = [{"id": "7", "day": "0000-01-01"}, None, {"id": None, "day": "2024-02-29"}]
    image = pa.chunked_array([pa.array(rows, pa.struct([("id", pa.string()), ("day", pa.string())]))])
    assert cast_image(image, kind).to_pylist() == [{"id": 7, "day": None}, None, {"id": None, "day": DAY}]
