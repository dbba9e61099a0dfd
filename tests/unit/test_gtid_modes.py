"""R26: which GTID mode an apply takes on a MySQL or MariaDB, by what is known of the target."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from paraply.errors import UsageError
from paraply.targets.mysql.ddl.context import ServerKind
from paraply.targets.mysql.gtid_mode import Facts, choose_mode
from paraply.targets.mysql.gtid_position import source_position
from paraply.targets.mysql.replica_mode import why_not_preserve
from paraply.targets.protocol import ApplyPlan

MYSQL, MARIADB = ServerKind.parse("9.7.4"), ServerKind.parse("10.11.6-MariaDB-log")
ALONE = Facts(gtids=True, log_bin=True, replicas=0, group_member=False)
FOLLOWED = Facts(gtids=True, log_bin=True, replicas=1, group_member=False)
BLIND = Facts(gtids=True, log_bin=True, replicas=0, group_member=False, blind="PROCESS ON *.*")
WITHOUT_LOG = Facts(gtids=True, log_bin=False, replicas=0, group_member=False)


def plan(gtid_mode: Literal["auto", "record", "preserve"] = "auto", *, two_phase: bool = False) -> ApplyPlan:
    return ApplyPlan("c", "f", 4, gtid_mode=gtid_mode, two_phase=two_phase)


@pytest.mark.parametrize(
    ("server", "facts", "whole", "in_parts"),
    [
        (MYSQL, ALONE, "record", "none"),
        (MYSQL, FOLLOWED, "preserve", "none"),
        (MYSQL, BLIND, "preserve", "none"),
        (MYSQL, WITHOUT_LOG, "record", "record"),
        (MARIADB, ALONE, "record", "record"),
        (MARIADB, FOLLOWED, "preserve", "none"),
        (MARIADB, BLIND, "preserve", "none"),
    ],
)
def test_r26_auto_is_a_mode_that_the_policy_is_safe_in(server: ServerKind, facts: Facts, whole: str, in_parts: str) -> None:
    assert choose_mode(plan(), facts, server).name == whole
    assert choose_mode(plan(two_phase=True), facts, server).name == in_parts


def test_r26_parts_are_refused_where_a_killed_server_forgets_them() -> None:
    with pytest.raises(UsageError, match="a MySQL with a binlog that is killed forgets such parts"):
        choose_mode(plan("record", two_phase=True), ALONE, MYSQL)
    assert choose_mode(plan("record", two_phase=True), ALONE, MARIADB).name == "record"
    assert choose_mode(plan("record", two_phase=True), WITHOUT_LOG, MYSQL).name == "record"


@pytest.mark.parametrize("server", [MYSQL, MARIADB])
def test_r26_parts_cannot_commit_under_one_gtid(server: ServerKind) -> None:
    with pytest.raises(UsageError, match="cannot commit under one GTID"):
        choose_mode(plan("preserve", two_phase=True), FOLLOWED, server)


@pytest.mark.parametrize(
    ("server", "facts", "options", "reason"),
    [
        (MYSQL, ALONE, {}, None),
        (MYSQL, FOLLOWED, {}, None),
        (MYSQL, WITHOUT_LOG, {}, None),
        (MYSQL, ALONE, {"gaps": True}, None),
        (MYSQL, Facts(gtids=False, log_bin=True, replicas=0, group_member=False), {}, "gtid_mode is not ON"),
        (MYSQL, ALONE, {"has_gtids": False}, "carry no GTIDs"),
        (MARIADB, ALONE, {}, None),
        (MARIADB, WITHOUT_LOG, {}, "writes no binlog"),
        (MARIADB, ALONE, {"gaps": True}, "cannot hold the gaps"),
    ],
)
def test_r26_a_replica_preserves_where_the_target_can(
    server: ServerKind, facts: Facts, options: dict[str, bool], reason: str | None
) -> None:
    found = why_not_preserve(replace(plan(), live=True, **options), facts, server)
    assert found is None if reason is None else found is not None and reason in found


def test_r26_a_mariadb_that_wrote_in_the_source_s_domain_cannot_preserve() -> None:
    assert "it wrote itself (0-2-5)" in (why_not_preserve(plan(), ALONE, MARIADB, "0-2-5") or "")


def test_the_position_of_the_source_is_found_below_own_writes() -> None:
    assert source_position("0-1-14,0-2-15", own=2) == "0-1-14"
    assert source_position("0-1-14,0-3-20,0-2-30", own=2) == "0-3-20", "a source that failed over"
    assert source_position("1-2-3", own=2) == "1-2-3", "a domain of its own"
    assert source_position("", own=2) == ""
