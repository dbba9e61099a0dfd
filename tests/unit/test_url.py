"""Sources of a connection's options: the URL, the environment, option files; and options that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraply.errors import UsageError
from paraply.targets import make_target
from paraply.targets.mysql.errors import connect_error
from paraply.targets.option_file import read_option_file
from paraply.targets.url import DatabaseUrl, parse_url


def home(folder: Path, text: str, mode: int = 0o600) -> dict[str, str]:
    """An environment whose home has this ``.my.cnf``."""
    file = folder / ".my.cnf"
    file.write_text(text)
    file.chmod(mode)
    return {"HOME": str(folder)}


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ("", "preferred"),
        ("tls=required", "required"),
        ("ssl-mode=REQUIRED", "required"),
        ("ssl_mode=VERIFY_IDENTITY", "verify-identity"),
        ("ssl-ca=/ca.pem", "verify-ca"),
        ("ssl-mode=REQUIRED&ssl-ca=/ca.pem", "required"),
    ],
)
def test_tls_has_the_names_of_the_field(options: str, mode: str) -> None:
    assert parse_url(f"mysql://app@db.example.org?{options}", {}).tls == mode


def test_files_of_tls_keep_their_names() -> None:
    url = parse_url("mysql://app@127.0.0.1?ssl-ca=/ca&ssl-cert=/cert&ssl-key=/key", {})
    assert url.tls_options() == {"mode": "verify-ca", "ca": "/ca", "cert": "/cert", "key": "/key"}
    assert parse_url("mysql://app@127.0.0.1", {}).tls == "disabled"
    assert parse_url("mysql://app@127.0.0.1?ssl-cert=/cert&ssl-key=/key", {}).tls == "preferred"


@pytest.mark.parametrize(
    "text",
    [
        "mysql://h?ssl-mode=SOMETIMES",
        "mysql://h?ssl-cert=/cert",
        "mysql://localhost?socket=/s.sock&tls=required",
        "mysql://h?password=hunter2",
        "mysql://h?passwort=hunter2",
    ],
)
def test_what_is_refused_holds_no_value_that_is_secret(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_url(text, {})
    assert "hunter2" not in str(raised.value)


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UsageError, match=r"/nowhere/ca\.pem of tls-ca"):
        parse_url("mysql://h?ssl-ca=/nowhere/ca.pem", {}).check_tls_files()


def test_the_users_option_file_gives_what_the_url_lacks(tmp_path: Path) -> None:
    environment = home(tmp_path, "[client]\nuser=me\npassword=secret\nhost=db.example.org\nport=3310\nssl-mode=VERIFY_CA\nssl_ca=/ca\n")
    url = parse_url("mysql://", environment)
    assert (url.user, url.password, url.host, url.port) == ("me", "secret", "db.example.org", 3310)
    assert (url.tls, url.tls_ca) == ("verify-ca", "/ca")
    other = parse_url("mysql://me@other:3311?tls=required", environment)
    assert (other.host, other.port, other.password, other.tls) == ("other", 3311, "secret", "required")


def test_a_password_of_an_option_file_is_for_its_user_only(tmp_path: Path) -> None:
    environment = home(tmp_path, "[client]\nuser=me\npassword=secret\n")
    assert parse_url("mysql://you@h", environment).password is None
    assert parse_url("mysql://me@h", environment).password == "secret"
    assert parse_url("mysql://you@h", home(tmp_path, "[client]\npassword=secret\n")).password == "secret"


def test_the_first_password_found_counts(tmp_path: Path) -> None:
    environment = home(tmp_path, "[client]\npassword=file\n") | {"PARAPLY_PASSWORD": "variable", "MYSQL_PWD": "old"}
    assert parse_url("mysql://me:url@h", environment).password == "url"
    assert parse_url("mysql://me@h", environment).password == "variable"
    del environment["PARAPLY_PASSWORD"]
    assert parse_url("mysql://me@h", environment).password == "file"
    (tmp_path / ".my.cnf").unlink()
    assert parse_url("mysql://me@h", environment).password == "old"


def test_a_named_option_file_counts_in_the_place_of_the_users(tmp_path: Path) -> None:
    environment = home(tmp_path, "[client]\nuser=me\npassword=secret\n")
    named = tmp_path / "other.cnf"
    named.write_text("[client]\nuser=other\n")
    for url in (parse_url("mysql://h", environment, defaults_file=str(named)), parse_url(f"mysql://h?defaults-file={named}", environment)):
        assert (url.user, url.password) == ("other", None)
    with pytest.raises(UsageError, match="cannot be read"):
        parse_url("mysql://h", environment, defaults_file=str(tmp_path / "missing.cnf"))
    with pytest.raises(UsageError, match="--defaults-file"):
        make_target("postgresql://h/d", defaults_file=named)


def test_mariadbs_groups_and_switches(tmp_path: Path) -> None:
    environment = home(tmp_path, "[client]\npassword=all\n[client-mariadb]\npassword=maria\nssl-verify-server-cert\nssl-ca=/ca\n")
    assert parse_url("mysql://me@h", environment).password == "all"
    url = parse_url("mariadb://me@h", environment)
    assert (url.password, url.tls, url.tls_ca) == ("maria", "verify-identity", "/ca")
    assert parse_url("mariadb://me@h", home(tmp_path, "[client]\nssl=0\n")).tls == "disabled"
    assert parse_url("mariadb://me@127.0.0.1", home(tmp_path, "[client]\nssl\n")).tls == "required"


def test_a_file_that_everybody_may_write_is_not_trusted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    environment = home(tmp_path, "[client]\npassword=secret\n", mode=0o666)
    assert parse_url("mysql://me@h", environment).password is None
    assert "chmod" in caplog.text
    assert "secret" not in caplog.text
    with pytest.raises(UsageError, match="chmod"):
        parse_url("mysql://me@h", {}, defaults_file=str(tmp_path / ".my.cnf"))


def test_option_files_are_read_as_clients_read_them(tmp_path: Path) -> None:
    (tmp_path / "more.d").mkdir()
    (tmp_path / "more.d" / "b.cnf").write_text("[client]\nport=3399\n")
    (tmp_path / "more.d" / "b.txt").write_text("[client]\nport=1\n")
    file = tmp_path / "my.cnf"
    file.write_text(
        "# a comment\n; another\n[mysqld]\nuser=mysql\n[client]\npassword = 'a # b' # not part of it\nuser=me # comment\n"
        f'default-character-set\nhost="h"\nsocket=/a\\sb\\\\c\\d\n!includedir {tmp_path / "more.d"}\n'
    )
    assert read_option_file(file, ["client"]) == {
        "password": "a # b",
        "user": "me",
        "default-character-set": "",
        "host": "h",
        "socket": "/a b\\c\\d",
        "port": "3399",
    }


def test_a_file_that_includes_itself_ends(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(f"[client]\nuser=me\n!include {file}\n")
    assert read_option_file(file, ["client"]) == {"user": "me"}


def test_an_account_that_must_use_tls_is_thought_of() -> None:
    from paraply.errors import ConnectionLost, ServerError

    denied = ServerError("Access denied", 1045)
    assert "tls=required" in str(connect_error(denied, "mysql://h", tls=False))
    assert "tls=required" not in str(connect_error(denied, "mysql://h", tls=True))
    untrusted = ConnectionLost("IO error: `invalid peer certificate: UnknownIssuer'")
    assert "not trusted: UnknownIssuer; give its authority's" in str(connect_error(untrusted, "mysql://h"))


def test_a_url_shows_no_password_in_any_form() -> None:
    url = DatabaseUrl("mysql", "h", 3306, "app", password="hunter2")
    assert "hunter2" not in f"{url} {url!r} {url.tls_options()}"
