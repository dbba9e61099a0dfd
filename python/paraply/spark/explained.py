"""Options of the data source below the plan that ``DataFrame.explain`` prints, which has only the source's name."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paraply.errors import ParaplyError
from paraply.spark.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["explain_options", "pruning_of"]

NAME = "binlog"


def explain_options() -> None:
    """Let ``DataFrame.explain`` print, for each load of logs, the options by which it leaves out data.

    Further calls have no effect. Sessions of Spark Connect print Spark's text only.
    """
    from pyspark.sql.classic.dataframe import DataFrame

    explain = DataFrame.explain
    if getattr(explain, "shows_options", False):
        return

    @functools.wraps(explain)
    def with_options(self: Any, *args: Any, **kwargs: Any) -> None:
        explain(self, *args, **kwargs)
        for line in pruning_of(self):
            print(line)

    vars(with_options)["shows_options"] = True
    setattr(DataFrame, "explain", with_options)  # noqa: B010  the type checker knows a method only


def pruning_of(frame: Any) -> Iterator[str]:
    """Yield a line for each load of logs in a DataFrame: the number of places, and the options that leave out data."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, ParaplyError):
        leaves = vars(frame)["_jdf"].queryExecution().analyzed().collectLeaves()
        for number in range(leaves.size()):
            leaf = leaves.apply(number)
            if leaf.getClass().getSimpleName() == "DataSourceV2Relation" and leaf.table().name() == NAME:
                given = leaf.options().asCaseSensitiveMap()
                options = Options.of({name: given[name] for name in given})
                yield f"{NAME}: reads {len(options.paths)} place(s) with {options.pruning()}"
