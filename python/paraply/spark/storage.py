"""Credentials of storages from Spark's configuration: for the driver's own reads, and for the tasks of the data source."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from paraply.logs.inputs.storage_options import VARIABLE, packed, storage_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["share_storage", "with_storage"]

S3 = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint": "endpoint",
    "endpoint.region": "region",
}
"""Settings of Hadoop below ``fs.s3a.``, and the options of obstore for them."""
AMAZON = "s3.amazonaws.com"
ANONYMOUS = "AnonymousAWSCredentialsProvider"
GOOGLE = ("fs.gs.auth.service.account.json.keyfile", "google.cloud.auth.service.account.json.keyfile")
AZURE = "fs.azure.account.key."


class HadoopSettings:
    """Settings of Hadoop's file systems in a session.

    Args:
        spark: The session, which must have a context.
    """

    def __init__(self, spark: Any) -> None:
        self._settings = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001  PySpark has no other way
        self._text = spark.sparkContext._jvm.java.lang.String  # noqa: SLF001

    def get(self, name: str) -> str | None:
        """Return a setting, or a secret of a credential provider."""
        found = self._settings.getPassword(name)
        return None if found is None else str(self._text(found)) or None

    def below(self, prefix: str) -> list[str]:
        """Return the names of settings after a prefix."""
        return [str(name) for name in self._settings.getPropsWithPrefix(prefix)]


def share_storage(spark: SparkSession) -> None:
    """Give the credentials in a session's configuration to the tasks that are planned from now on, by their environment.

    A session of Spark Connect has none to give: those of its server count.
    """
    context = getattr(spark, "_sc", None)
    if context is None:
        return
    found = storage_of(HadoopSettings(spark))
    if found:
        context.environment[VARIABLE] = packed(found)
    else:
        context.environment.pop(VARIABLE, None)


def with_storage(spark: SparkSession) -> AbstractContextManager[None]:
    """Use the credentials in a session's configuration in this process during a ``with`` block."""
    if getattr(spark, "_sc", None) is None:
        return nullcontext()
    found = storage_of(HadoopSettings(spark))
    return storage_options(found) if found else nullcontext()


def storage_of(settings: HadoopSettings) -> dict[str, dict[str, str]]:
    """Return the options of storages that are configured, by scheme and by bucket."""
    found = {"s3": s3_options(settings, "fs.s3a.")}
    named = settings.below("fs.s3a.bucket.")
    for bucket in sorted({name.removesuffix(f".{ending}") for name in named for ending in S3 if name.endswith(f".{ending}")}):
        found[f"s3://{bucket}"] = s3_options(settings, f"fs.s3a.bucket.{bucket}.")
    keyfile = next((path for path in map(settings.get, GOOGLE) if path), None)
    found["gs"] = {"service_account": keyfile} if keyfile else {}
    accounts = settings.below(AZURE)
    if len({name.partition(".")[0] for name in accounts}) == 1:  # az:// names no account
        key = settings.get(AZURE + accounts[0])
        found["az"] = {"account_name": accounts[0].partition(".")[0], "account_key": key} if key else {}
    return {place: options for place, options in found.items() if options}


def s3_options(settings: HadoopSettings, prefix: str) -> dict[str, str]:
    """Return the options below a prefix, with the name of a server as a URL."""
    found = {option: value for name, option in S3.items() if (value := settings.get(prefix + name))}
    server = found.get("endpoint")
    if server is not None and AMAZON in server:
        del found["endpoint"]
    elif server is not None and "://" not in server:
        plain = (settings.get(prefix + "connection.ssl.enabled") or settings.get("fs.s3a.connection.ssl.enabled")) == "false"
        found["endpoint"] = f"{'http' if plain else 'https'}://{server}"
    if ANONYMOUS in (settings.get(prefix + "aws.credentials.provider") or "") and "access_key_id" not in found:
        found["skip_signature"] = "true"
    return found
