"""TLS to real servers: accounts that demand it, certificates that are trusted and others, and no password in any output."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pymysql
import pytest
from certificates import Certificates, make_certificates
from command_line import DATA, run_json
from required import missing
from server.tls_proxy import postgres_behind_tls
from servers import running_mariadb

from paraply.errors import ConnectionFailed
from paraply.replication import Source, parse_source
from paraply.targets import make_target
from paraply.targets.postgres.embedded import EmbeddedPostgres

PASSWORD = "hunter2"
PLAIN = DATA / "plain.binlog"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))


def ways_in(url: str) -> list[Callable[[], object]]:
    """As a target is connected to, and as the source of a replication, which has a client of its own."""
    as_target = lambda: make_target(url).read_channels()  # noqa: E731
    if url.startswith("postgresql"):
        return [as_target]
    source = Source(parse_source(url), mariadb=url.startswith("mariadb"), server_id=1, server_uuid="", version="", gtids=True)
    return [as_target, lambda: source.connect().execute("SET @a = 1")]


def check_in(url: str) -> None:
    for way in ways_in(url):
        way()


def check_out(url: str, message: str) -> None:
    for way in ways_in(url):
        with pytest.raises(ConnectionFailed, match=message) as raised:
            way()
        assert PASSWORD not in str(raised.value)


@pytest.fixture(scope="module")
def mysql() -> Iterator[tuple[str, pymysql.cursors.Cursor]]:
    """Host and port, and a cursor, of a MySQL with the certificates that it makes itself, and two accounts that must use TLS."""
    url = os.environ.get("PARAPLY_TEST_MYSQL")
    if not url:
        missing("NO MYSQL SERVER: set PARAPLY_TEST_MYSQL=mysql://user:password@host:port to run this test")
    parts = urlsplit(url)
    assert parts.hostname is not None
    port = parts.port or 3306
    with pymysql.connect(host=parts.hostname, port=port, user=parts.username, password=parts.password or "", autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("SET sql_log_bin=0")
        for user, demand in (("tls", "SSL"), ("x509", "X509")):
            cursor.execute(f"DROP USER IF EXISTS {user}@'%'")
            cursor.execute(f"CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE {demand}")
            cursor.execute(f"GRANT ALL ON *.* TO {user}@'%'")
        yield f"{parts.hostname}:{port}", cursor
        for user in ("tls", "x509"):
            cursor.execute(f"DROP USER {user}@'%'")


def mysql_file(cursor: pymysql.cursors.Cursor, name: str, folder: Path) -> Path:
    """A copy of a file in the server's data folder."""
    cursor.execute("SELECT LOAD_FILE(CONCAT(@@datadir, %s))", (name,))
    row = cursor.fetchone()
    if row is None or row[0] is None:
        pytest.skip(f"the server does not let {name} be read: secure_file_priv")
    content = row[0]
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_mysqls_account_that_demands_tls(mysql: tuple[str, pymysql.cursors.Cursor], certificates: Certificates, tmp_path: Path) -> None:
    place, cursor = mysql
    url = f"mysql://tls:{PASSWORD}@{place}"
    authority = mysql_file(cursor, "ca.pem", tmp_path)
    check_out(url + "?tls=disabled", "must use TLS: add .tls=required")
    check_in(url + "?tls=preferred")
    check_in(url + "?ssl-mode=REQUIRED")
    check_in(url + f"?ssl-mode=VERIFY_CA&ssl-ca={authority}")
    check_in(url + f"?ssl-ca={authority}")
    check_out(url + f"?ssl-ca={certificates.authority}", "not trusted")
    # The certificate that the server makes for itself names no host.
    check_out(url + f"?ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}", "not trusted: certificate not valid for name")


def test_mysqls_account_that_demands_a_clients_certificate(mysql: tuple[str, pymysql.cursors.Cursor], tmp_path: Path) -> None:
    place, cursor = mysql
    url = f"mysql://x509:{PASSWORD}@{place}"
    authority, certificate, key = (mysql_file(cursor, name, tmp_path) for name in ("ca.pem", "client-cert.pem", "client-key.pem"))
    check_out(url + f"?ssl-ca={authority}", "refuses the login")
    check_in(url + f"?ssl-ca={authority}&ssl-cert={certificate}&ssl-key={key}")


def test_mariadb_with_a_certificate_that_names_its_host(certificates: Certificates) -> None:
    options = [f"--ssl-ca={certificates.authority}", f"--ssl-cert={certificates.certificate}", f"--ssl-key={certificates.key}"]
    with running_mariadb([*options, "--log-bin=binlog", "--binlog-format=ROW"]) as server:
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE USER tls@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL")
            cursor.execute("GRANT ALL ON *.* TO tls@'%'")
        url = f"mariadb://tls:{PASSWORD}@127.0.0.1:{server.port}"
        check_out(url, "must use TLS")
        check_in(url + f"?ssl-mode=VERIFY_IDENTITY&ssl-ca={certificates.authority}")
        check_out(url + f"?ssl-mode=VERIFY_IDENTITY&ssl-ca={certificates.other}", "not trusted")
    with running_mariadb() as plain:
        check_out(f"mariadb://app:app@127.0.0.1:{plain.port}?tls=required", "no TLS")
        check_in(f"mariadb://app:app@127.0.0.1:{plain.port}?tls=preferred")


@pytest.mark.postgres
def test_postgresql_with_libpqs_own_options(embedded: EmbeddedPostgres, certificates: Certificates) -> None:
    socket = next((embedded.folder).glob(".s.PGSQL.*[0-9]"))
    with postgres_behind_tls(socket, certificates.certificate, certificates.key) as port:
        url = f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/postgres"
        check_in(f"{url}?sslmode=verify-full&sslrootcert={certificates.authority}")
        check_in(f"{url}?sslmode=require")
        check_out(f"{url}?sslmode=verify-ca&sslrootcert={certificates.other}", r"certificate verify failed.*sslrootcert")
        check_out(f"{url}?sslmode=disable", "cannot be reached")
    with postgres_behind_tls(socket, certificates.certificate, certificates.key, offers=False) as port:
        check_out(f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/postgres?sslmode=require", "SSL")


@pytest.mark.postgres
def test_an_apply_over_tls_shows_its_password_nowhere(embedded: EmbeddedPostgres, certificates: Certificates, tmp_path: Path) -> None:
    socket = next((embedded.folder).glob(".s.PGSQL.*[0-9]"))
    trace = tmp_path / "trace.json"
    with postgres_behind_tls(socket, certificates.certificate, certificates.key) as port:
        url = f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/postgres?sslmode=verify-full&sslrootcert={certificates.authority}"
        outcome = run_json("apply", PLAIN, "--to", url, "--channel", "tls", "--trace", trace, "--metrics", "0")
        assert outcome.code == 0, outcome.line
        status = run_json("status", "--to", url, "--channel", "tls")
    assert status.report["channels"][0]["state"] == "complete"
    assert PASSWORD not in f"{outcome.report}{outcome.line}{status.report}{status.line}{trace.read_text()}"
