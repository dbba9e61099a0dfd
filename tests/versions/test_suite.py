"""The suite itself: its scripts are read as they are meant, and each refusal that it expects is documented."""

from __future__ import annotations

import pytest
from versions.contents import spelled
from versions.kinds import MARIADB_10_5, MARIADB_10_11, MARIADB_11_8, MYSQL, PAIRS, SOURCES, TARGETS, ci_pair, pairs_of
from versions.pairs import Outcome
from versions.refusals import KINDS, Kind, is_documented, kind_of
from versions.scripts import all_features, chosen, parse
from versions.table import HEAD, PAGE, TAIL, counted, failures, features_of, summary, unexpected

SCRIPT = """
-- feature: first
-- about: This and that
-- only: mysql, mariadb 10.11
-- refused: older older-definition
-- refused: postgresql from mariadb type
CREATE TABLE {db}.t (a INT,
  b INT);
-- session: two
-- if: mysql
INSERT INTO t VALUES (1);
-- fails
NONSENSE;
DELIMITER //
CREATE PROCEDURE p()
BEGIN
  SELECT 1;
END//
DELIMITER ;
-- close: two
-- session: one
GRANT x TO {user};

-- feature: second
-- about: Nothing else
SELECT 2;
"""


def test_a_script_is_cut_into_statements() -> None:
    first, second = parse(SCRIPT, "area")
    read = list(first.statements_for(MYSQL))
    assert [statement.text for statement in read] == [
        "CREATE TABLE v_first.t (a INT,\n  b INT)", "INSERT INTO t VALUES (1)", "NONSENSE", "CREATE PROCEDURE p()\nBEGIN\n  SELECT 1;\nEND",
        "", "GRANT x TO u_first",
    ]  # fmt: skip
    assert [statement.session for statement in read] == ["one", "two", "two", "two", "two", "one"]
    assert [statement.fails for statement in read] == [False, False, True, False, False, False]
    assert [statement.close for statement in read] == [False, False, False, False, True, False]
    assert len(list(first.statements_for(MARIADB_11_8))) == 5
    assert second.name == "second"


def test_a_feature_says_who_runs_and_who_refuses_it() -> None:
    first, second = parse(SCRIPT, "area")
    assert [first.runs_on(source) for source in SOURCES] == [True, False, True, True]
    assert all(second.runs_on(source) for source in SOURCES)
    assert first.refusals(MARIADB_11_8, MARIADB_10_11) == ("older-definition",)
    assert first.refusals(MARIADB_10_11, MARIADB_11_8) == ()
    assert first.refusals(MARIADB_10_11, TARGETS[-1]) == ("type",)
    assert first.refusals(MYSQL, TARGETS[-1]) == ()


def test_a_statement_without_an_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="without an end"):
        parse("-- feature: x\n-- about: y\nSELECT 1\n", "area")


@pytest.mark.parametrize("word", ["nothing", "key"])
def test_an_unknown_word_is_an_error(word: str) -> None:
    with pytest.raises(ValueError, match="no feature"):
        chosen([word])
    with pytest.raises(ValueError, match="no pair"):
        pairs_of([word])


def test_every_version_is_a_source_each_day_and_every_pair_has_its_turn() -> None:
    days = [[ci_pair(source, day) for source in SOURCES] for day in range(20_000, 20_005)]
    assert all([pair.source for pair in pairs] == list(SOURCES) for pairs in days)
    assert {pair for pairs in days for pair in pairs} == set(PAIRS)
    assert all(len({pair.target for pair in pairs}) >= 3 for pairs in days), "no day has only one kind of target"


def test_names_of_databases_and_users_fit() -> None:
    assert [feature.name for feature in all_features() if len(feature.user) > 31 or len(feature.database) > 60] == []


def test_every_expected_refusal_is_known() -> None:
    known = {kind.name for kind in KINDS}
    assert {kind for feature in all_features() for _, kind in feature.refused} <= known


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name}-{kind.targets}")
def test_every_kind_of_refusal_is_documented(kind: Kind) -> None:
    assert is_documented(kind), f"docs/{kind.document} does not say: {kind.words}"


def test_an_error_belongs_to_the_kind_of_its_target() -> None:
    message = "the table's engine MyISAM has no transactions"
    assert kind_of("SchemaMismatch", message, MARIADB_10_5, MARIADB_10_5) == "engine"
    assert kind_of("SchemaMismatch", message, MARIADB_10_5, TARGETS[-1]) == ""
    assert kind_of("LogDamaged", message, MARIADB_10_5, MARIADB_10_5) == ""


def test_a_refusal_that_no_document_tells_of_counts_as_different() -> None:
    pair = PAIRS[0]
    outcomes = {
        "a": {"offline": Outcome("same"), "live": Outcome("same")},
        "b": {"offline": Outcome("same"), "live": Outcome("refused", "why", "LogDamaged")},
        "c": {"offline": Outcome("refused", "x", "E", "engine"), "live": Outcome("refused", "x", "E", "engine")},
    }
    assert counted(outcomes) == {"same": 1, "refused": 1, "different": 1}
    assert failures(pair, outcomes) == [f"{pair.name} b live: refused: why"]
    assert summary({pair: outcomes})[-1] == "| MySQL 9.7 | MySQL 9.7 | 3 | 1 | 1 | 1 |"


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("DEFAULT CHARSET=utf8 COLLATE=utf8_bin", "DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_bin"),
        ("utf8mb4_bin utf8mb3", "utf8mb4_bin utf8mb3"),
        ("`a` int(11) INVISIBLE DEFAULT 5,\n `b` int", "`a` int(11) DEFAULT 5 INVISIBLE,\n `b` int"),
        ("KEY `a` (`a` DESC,`b`)", "KEY `a` (`a`,`b`)"),
        ("GRANT SELECT, DELETE HISTORY, SHOW CREATE ROUTINE ON", "GRANT SELECT, DELETE HISTORY ON"),
        ("`c` varbinary(9) DEFAULT x'0a0b275c'", "`c` varbinary(9) DEFAULT '\\n\x0b''\\\\'"),
        ("1 | 2038-01-19 03:14:07.999999", "1 | the end of time"),
        ("1 | 2038-01-19 03:14:07.999998", "1 | 2038-01-19 03:14:07.999998"),
    ],
)
def test_versions_that_spell_the_same_in_other_ways_are_equal(text: str, spelling: str) -> None:
    assert spelled(text) == spelling


def test_the_page_is_that_of_this_suite() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    assert text.endswith(TAIL)
    for pair in PAIRS:
        assert f"| {pair.source.title} | {pair.target.title} | {len(features_of(pair, all_features()))} |" in text, "make versions WRITE=1"
    for feature in all_features():
        assert f"| {feature.about} |" in text, "make versions WRITE=1"
    pairs = [line for line in text.splitlines() if any(line.startswith(f"| {source.title} |") for source in SOURCES)]
    assert len(pairs) == len(PAIRS)
    assert all(line.endswith("| 0 |") for line in pairs), "none is different"


def test_a_refusal_that_the_script_does_not_expect_is_a_failure() -> None:
    older = next(pair for pair in PAIRS if pair.target == MARIADB_10_5 and pair.source == MARIADB_11_8)
    refused = Outcome("refused", "x", "E", "older-definition")
    assert unexpected(older, {"uuid": {"offline": refused}, "key-kinds": {"live": refused}, "defaults": {}}) == []
    assert len(unexpected(older, {"uuid": {"offline": Outcome("same"), "live": Outcome("refused", "x", "E", "engine")}})) == 2
    assert len(unexpected(older, {"inet6": {"offline": refused}})) == 1
