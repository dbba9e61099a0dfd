"""R25: statements of a log that would change paraply's own tables on the target."""

from __future__ import annotations

import pytest

from paraply.errors import UsageError
from paraply.schema.ddl.rules import Rules
from paraply.targets.mysql.ddl.own_database import check_own_statement

RULES = Rules(mariadb=False, version=(9, 7, 0))


@pytest.mark.parametrize(
    "statement",
    [
        "DROP DATABASE paraply",
        "DROP DATABASE IF EXISTS `Paraply`",
        "drop schema /* c */ paraply",
        "DROP TABLE d.t, paraply.channel",
        "TRUNCATE paraply.channel",
        "ALTER TABLE paraply.progress ADD x INT",
        "RENAME TABLE paraply.channel TO d.channel",
        "RENAME TABLE d.channel TO paraply.channel",
        "CREATE INDEX i ON paraply.channel (epoch)",
        "DROP INDEX i ON paraply.channel",
        "CREATE OR REPLACE TABLE paraply.channel (x INT)",
        "ALTER DATABASE paraply CHARACTER SET latin1",
        "DROP VIEW paraply.channel",
        "CREATE TRIGGER paraply.t BEFORE INSERT ON paraply.channel FOR EACH ROW SET NEW.epoch = 1",
        "ALTER TABLE paraply.progress SOMETHING NEW",
        "CREATE TABLE paraply.item (id INT)",
        "CREATE TABLE paraply.progress LIKE paraply.item",
    ],
)
def test_r25_statements_on_the_progress_are_refused(statement: str) -> None:
    with pytest.raises(UsageError, match="--exclude-database paraply"):
        check_own_statement(statement, "d", RULES, 4)


def test_r25_the_default_database_counts() -> None:
    with pytest.raises(UsageError, match="DROP TABLE channel"):
        check_own_statement("DROP TABLE channel", "paraply", RULES, 4)
    check_own_statement("DROP TABLE d.channel", "paraply", RULES, 4)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE DATABASE IF NOT EXISTS paraply",
        "CREATE TABLE IF NOT EXISTS paraply.undo_history (id INT)",
        "CREATE TABLE d.paraply (paraply INT)",
        "ALTER TABLE d.paraply ADD x INT COMMENT 'paraply.channel'",
        "DROP TABLE paraply_2.t",
        "GRANT SELECT ON paraply.* TO app",
    ],
)
def test_r25_other_statements_are_not(statement: str) -> None:
    check_own_statement(statement, "d", RULES, 4)
