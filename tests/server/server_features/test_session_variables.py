"""Every session variable of the servers has its place: set, logged, or without an effect on what DDL and rows make (R33, R36)."""

from __future__ import annotations

import re

import pytest
from server.replay import SqlPlace
from server.version_servers import VersionServers, make_version_servers
from servers import mysql_url

from paraply.targets.mysql.context import session_settings
from paraply.targets.mysql.ddl.context import reset_statement
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import _SETTLED

__all__ = ["make_version_servers"]

#: Variables without an effect on what a logged DDL or row event makes, as patterns, by the reason.
NO_EFFECT: dict[str, str] = {
    "other names or parts of variables that are set": """
        storage_engine tx_isolation tx_read_only character_set_connection character_set_server identity
        slow_query_log long_query_time pseudo_slave_mode old_alter_table tmp_memory_table_size wsrep_causal_reads""",
    "set by USE": "character_set_database",
    "parts of SET NAMES and SET TRANSACTION, which each session runs": "transaction_isolation transaction_read_only",
    "the target's own binlog, GTIDs and replication": """
        binlog_\\w+ gtid_domain_id gtid_owned group_replication_consistency server_id default_master_connection max_relay_log_size
        sql_slave_skip_counter wsrep_\\w+""",
    "what is temporary: CREATE TEMPORARY is refused": """
        big_tables default_tmp_storage_engine internal_tmp_mem_storage_engine tmp_table_size tmp_disk_table_size max_tmp_tables
        max_tmp_session_space_usage""",
    "how queries run; a DDL and a row event have no plan": """
        eq_range_index_dive_limit expensive_subquery_limit join_\\w+ in_predicate_conversion_threshold max_join_size
        max_length_for_sort_data max_recursive_iterations cte_max_recursion_depth max_rowid_filter_size max_seeks_for_key mrr_buffer_size
        optimizer_\\w+ range_\\w+ rowid_merge_buff_size mhnsw_ef_search query_cache_\\w+ secondary_engine_cost_threshold
        set_operations_buffer_size sql_buffer_result new_mode use_stat_tables low_priority_updates updatable_views_with_limit
        deadlock_\\w+ innodb_table_locks innodb_snapshot_isolation""",
    "statistics for the optimizer": """
        analyze_\\w+ histogram_\\w+ \\w+_stats_method enable_secondary_engine_statistics information_schema_stats_expiry""",
    "memory, threads and files on the way": """
        aria_repair_threads aria_sort_buffer_size myisam_repair_threads myisam_sort_buffer_size bulk_insert_buffer_size
        \\w*read\\w*_buffer_size sort_buffer_size preload_buffer_size query_\\w+_size
        transaction_\\w+_size innodb_ddl_\\w+ innodb_parallel_read_threads innodb_tmpdir select_into_\\w+ parser_max_mem_size
        connection_memory_\\w+ global_connection_memory_tracking max_session_mem_used""",
    "limits, whose violation is an error and ends the apply": """
        max_allowed_packet max_heap_table_size max_points_in_geometry max_sp_recursion_depth max_user_connections
        keep_files_on_create standard_compliant_cte""",
    "what a connection and a client see": """
        end_markers_in_json explain_\\w+ interactive_timeout lc_messages net_\\w+ tcp_nodelay redirect_url
        session_track_\\w+ progress_report_time profiling\\w* note_verbosity max_error_count sql_notes sql_warnings
        print_identified_with_as_hex show_create_table_verbosity terminology_use_previous thread_pool_priority""",
    "logs of the server": "log_\\w+ min_examined_row_limit sql_log_off log_warnings",
    "LOAD DATA and INSERT DELAYED, which become rows": "character_set_filesystem max_delayed_threads max_insert_delayed_threads",
    "the length of aggregates, which are in no default and no generated column": "group_concat_max_len windowing_use_high_precision",
    "how COMPRESSED columns are stored; the values are the same": "column_compression_\\w+",
    "reads of earlier versions; a DDL and a row event do not read so (a view keeps no time)": "system_versioning_asof",
    "MySQL logs the hash of a random password": "generated_random_password_length",
    "a row event runs no trigger": "enable_cascade_triggers",
    "optimizer hints and checksums of old servers, and the algorithm of an ALTER": "old alter_algorithm",
    "XA: read where it matters (targets/mysql/xa)": "xa_detach_on_prepare",
    "only a session can set it (SET GLOBAL is refused), and STRICT is the default": "rbr_exec_mode",
}  # fmt: skip
#: Variables with an effect that docs/targets/mysql.md names, because a session may not set them with paraply's privileges.
NAMED_IN_DOCS = "enforce_storage_engine external_table_storage_engine external_table_secondary_storage_engine"


def placed(server: ServerKind) -> set[str]:
    """Return the variables that paraply sets for a session or a statement, also from the log."""
    texts = (reset_statement(server), *session_settings(hidden=True), *_SETTLED)
    return {name.lower() for text in texts for name in re.findall(r"(\w+)=", text)} | {"character_set_client", "collation_connection"}


def without_place(variables: set[str], server: ServerKind) -> set[str]:
    patterns = [pattern for words in (*NO_EFFECT.values(), NAMED_IN_DOCS) for pattern in words.split()]
    rest = variables - placed(server)
    return {name for name in rest if not any(re.fullmatch(pattern, name) for pattern in patterns)}


@pytest.mark.parametrize("version", ["10.5", "10.11", "11.8"])
def test_r33_every_session_variable_of_mariadb_has_its_place(make_version_servers: VersionServers, version: str) -> None:
    """A variable with the scope SESSION ONLY begins with its compiled default in each session."""
    rows = make_version_servers.target(version).sql(
        "SELECT LOWER(variable_name) FROM information_schema.system_variables WHERE variable_scope='SESSION'"
    )
    major, minor = (int(part) for part in version.split("."))
    assert len(rows) > 150
    assert without_place({str(name) for (name,) in rows}, ServerKind(mariadb=True, version=(major, minor, 2))) == set()


def test_r33_every_session_variable_of_mysql_has_its_place() -> None:
    place = SqlPlace(mysql_url())
    rows = place.sql("SELECT LOWER(variable_name) FROM performance_schema.variables_metadata WHERE variable_scope='SESSION'")
    assert len(rows) > 130
    assert without_place({str(name) for (name,) in rows}, ServerKind(mariadb=False, version=(9, 7, 0))) == set()


def test_r33_a_variable_has_one_place() -> None:
    """A variable that is set has no reason not to be."""
    words = {word for text in NO_EFFECT.values() for word in text.split() if "\\" not in word}
    both = placed(ServerKind(mariadb=False, version=(9, 7, 0))) & placed(ServerKind(mariadb=True, version=(11, 8, 0)))
    assert words & both == set()
