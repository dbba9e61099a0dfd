"""An S3 server for tests."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.required import required_module

__all__ = ["bucket", "environment", "storage_server"]


@pytest.fixture(scope="module")
def storage_server() -> Iterator[str]:
    """An S3 server; its address."""
    required_module("obstore", "obstore is not installed: pip install 'paraply[cloud]'")
    required_module("moto", "moto is not installed")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(storage_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a folder in a bucket."""
    for name, value in environment(storage_server).items():
        monkeypatch.setenv(name, value)
    import boto3  # type: ignore[import-untyped]

    boto3.client("s3").create_bucket(Bucket="backup")
    return f"s3://backup/{uuid.uuid4().hex}"


def environment(address: str) -> dict[str, str]:
    """Return the variables with which the storage is found."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "hidden-key",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }
