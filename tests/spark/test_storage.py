"""Credentials of storages in Spark's configuration: tasks read with them, and nothing shows them."""

from __future__ import annotations

import contextlib
import io
import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from paraply.logs.inputs.storage_options import VARIABLE, packed, storage_options_for
from tests.object_storage import bucket, storage_server

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

from paraply.spark import current, register
from paraply.spark.storage import storage_of

__all__ = ["bucket", "storage_server"]
pytestmark = pytest.mark.spark
SECRET = "hidden-key-of-spark"


class Settings:
    """Settings of Hadoop, in memory."""

    def __init__(self, **settings: str) -> None:
        self._settings = {name.replace("__", "."): value for name, value in settings.items()}

    def get(self, name: str) -> str | None:
        return self._settings.get(name)

    def below(self, prefix: str) -> list[str]:
        return [name.removeprefix(prefix) for name in self._settings if name.startswith(prefix)]


def options(**settings: str) -> dict[str, dict[str, str]]:
    made: Any = Settings(**settings)
    return storage_of(made)


def test_settings_of_hadoop_become_options_of_the_reader() -> None:
    assert options() == options(fs__s3a__endpoint="s3.amazonaws.com") == {}
    assert options(fs__s3a__access__key="a", fs__s3a__secret__key="b", fs__s3a__session__token="c", fs__s3a__endpoint__region="r") == {
        "s3": {"access_key_id": "a", "secret_access_key": "b", "session_token": "c", "region": "r"}
    }
    assert options(fs__s3a__endpoint="minio:9000")["s3"] == {"endpoint": "https://minio:9000"}
    plain = options(fs__s3a__endpoint="minio:9000", fs__s3a__connection__ssl__enabled="false")
    assert plain["s3"] == {"endpoint": "http://minio:9000"}
    named = options(**{"fs.s3a.bucket.old.logs.access.key": "x", "fs.s3a.bucket.old.logs.endpoint": "https://e", "fs.s3a.access.key": "a"})
    assert named == {"s3": {"access_key_id": "a"}, "s3://old.logs": {"access_key_id": "x", "endpoint": "https://e"}}
    anonymous = options(fs__s3a__aws__credentials__provider="org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider")
    assert anonymous == {"s3": {"skip_signature": "true"}}
    assert options(**{"fs.gs.auth.service.account.json.keyfile": "/k.json"}) == {"gs": {"service_account": "/k.json"}}
    account = options(**{"fs.azure.account.key.logs.dfs.core.windows.net": "k"})
    assert account == {"az": {"account_name": "logs", "account_key": "k"}}


def test_options_of_a_bucket_come_after_those_of_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, packed({"s3": {"region": "a", "access_key_id": "x"}, "s3://old": {"region": "b"}}))
    assert storage_options_for("s3://old/logs") == {"region": "b", "access_key_id": "x"}
    assert storage_options_for("s3://new/logs") == {"region": "a", "access_key_id": "x"}
    assert storage_options_for("az://old/logs") == {}


@pytest.fixture
def configured(spark: SparkSession, storage_server: str, bucket: str, demo_log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket with the demonstration's log, whose credentials only Spark's configuration has."""
    import boto3  # type: ignore[import-untyped]

    boto3.client("s3").upload_file(str(demo_log), "backup", f"{bucket.removeprefix('s3://backup/')}/relay.000001")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    settings: Any = spark.sparkContext._jsc.hadoopConfiguration()
    given = {"access.key": "test", "secret.key": SECRET, "endpoint": storage_server, "endpoint.region": "us-east-1"}
    for name, value in given.items():
        settings.set(f"fs.s3a.{name}", value)
    register(spark)
    yield bucket.replace("s3:", "s3a:")
    for name in given:
        settings.unset(f"fs.s3a.{name}")
    register(spark)


def test_tasks_read_with_the_credentials_and_nothing_shows_them(
    spark: SparkSession, configured: str, demo_log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    frame = spark.read.format("binlog").load(f"{configured}/relay.0*")
    assert frame.count() == 6856
    assert current(spark, f"{configured}/relay.000001", "shop.tag").count() == current(spark, str(demo_log), "shop.tag").count()
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        frame.explain("extended")
    messages = [shown.getvalue(), caplog.text, str(frame._jdf.queryExecution())]
    missing = spark.read.format("binlog")
    with pytest.raises(Exception, match="there is no object") as refused:
        missing.load(f"{configured}/relay.000007").count()
    messages += [str(refused.value), repr(refused.value)]
    assert not [text for text in messages if SECRET in text]
    assert VARIABLE not in os.environ
    assert storage_options_for("s3://backup") == {}
