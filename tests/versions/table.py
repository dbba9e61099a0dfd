"""The table of versions, for a terminal and for documentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from versions.contents import SPELLINGS
from versions.kinds import PAIRS, Pair
from versions.pairs import Outcome
from versions.refusals import KINDS
from versions.scripts import Feature, all_features

__all__ = ["HEAD", "PAGE", "TAIL", "counted", "failures", "features_of", "page", "summary", "unexpected"]

Outcomes = dict[str, dict[str, Outcome]]
PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "versions.md"
STATUSES = ("same", "refused", "different")

HEAD = """# Versions

Which server versions paraply was tried with, as `make versions` found it out and wrote it here.

Each feature is a script of statements (`tests/versions/features`). It runs on a real source; its log is applied to a real target
twice: *offline* from copies of the binlog files (`paraply apply`), and *live* from the running source (`paraply replicate --until`).
Afterwards definitions and rows of source and target are compared as a reader sees them. In a target of the same family these are every
`SHOW CREATE`, every value as text and to the last bit, all versions of rows of system-versioned tables, and users with their rights. In
PostgreSQL they are every table, column and value by [the table of types](../targets/postgresql.md#what-each-type-becomes).

A MariaDB of 11.5 or later whose log goes into an older one runs with `character_set_collations=''` and
`collation_server=utf8mb4_general_ci`, as [Limits](../limits.md#logs-that-are-refused) says: at its defaults, 10.5 refuses any DDL, and
10.11 any DDL that names a character set.

- **same**: the target shows what the source shows, in both ways.
- **refused**: the command ended with an error for a reason that is documented; the reasons are listed below.
- **different**: anything else. It must be 0.
"""

NOTHING_YET = "## Pairs\n\n`make versions WRITE=1` has not been run to its end with this version of paraply.\n"

TAIL = """## What rests on logs and manuals alone

No server of these versions was at hand, so they are not in the tables above.

| version | what it rests on |
|---|---|
| MySQL 5.7, 8.0, 8.4 | manuals and sources of the servers, and public log files, which the tests read |
| MySQL 9.0 to 9.6 | the same; what changed between them, such as cascades that are logged from 9.6 on, follows the release notes |
| MariaDB 10.0 to 10.4, 10.6, 11.0 to 11.7, 12.x | manuals, sources and public log files |
| PostgreSQL 14, 16, 17 | the manual: the types and statements that are used are the same in 14 to 18 |
"""


def counted(outcomes: Outcomes) -> Counter[str]:
    """Return the number of features with each outcome; a feature is as good as the worse of its modes."""
    return Counter(worst(modes) for modes in outcomes.values())


def worst(modes: dict[str, Outcome]) -> str:
    """Return a feature's status over its modes; a refusal that no document tells of counts as different."""
    if not all(outcome.is_good for outcome in modes.values()):
        return "different"
    return "refused" if any(outcome.status == "refused" for outcome in modes.values()) else "same"


def failures(pair: Pair, outcomes: Outcomes) -> list[str]:
    """Return a line for each feature and mode that came out different."""
    return [
        f"{pair.name} {name} {mode}: {outcome.status}: {outcome.text}"
        for name, modes in outcomes.items()
        for mode, outcome in modes.items()
        if not outcome.is_good
    ]


def unexpected(pair: Pair, outcomes: Outcomes) -> list[str]:
    """Return a line for each feature and mode whose script expects a refusal and there is none, or the other way round."""
    lines = []
    for feature in all_features():
        expected = feature.refusals(pair.source, pair.target)
        for mode, outcome in outcomes.get(feature.name, {}).items():
            is_expected = outcome.kind in expected if outcome.status == "refused" else not expected
            if outcome.is_good and not is_expected:
                wanted = " or ".join(expected) or "no refusal"
                lines.append(f"{pair.name} {feature.name} {mode}: {outcome.status} ({outcome.kind}), the script expects {wanted}")
    return lines


def summary(found: dict[Pair, Outcomes]) -> list[str]:
    """Return the lines of the table for a terminal and for Markdown."""
    lines = ["| source | target | features | same | refused | different |", "|---|---|---:|---:|---:|---:|"]
    for pair, outcomes in found.items():
        numbers = counted(outcomes)
        cells = [pair.source.title, pair.target.title, str(len(outcomes)), *(str(numbers[status]) for status in STATUSES)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def page(found: dict[Pair, Outcomes], path: Path) -> None:
    """Write the page of documentation.

    Args:
        found: The outcomes of all pairs.
        path: The file.
    """
    tables = ["## Pairs\n", "\n".join(summary(found)) + "\n", *_by_feature(found), *_refusals(found)] if found else [NOTHING_YET]
    parts = [HEAD, *_spellings(), *tables, TAIL]
    path.write_text("\n".join(parts), encoding="utf-8")


def _spellings() -> Iterable[str]:
    """Yield the list of what is compared as equal between versions."""
    yield "Compared as equal, because a version spells the same in another way or understands what an earlier one passed over:\n"
    yield "\n".join(f"- {spelling.about}" for spelling in SPELLINGS) + "\n"


def _by_feature(found: dict[Pair, Outcomes]) -> Iterable[str]:
    """Yield a table of features and sources: to which targets each was the same."""
    targets = [target for target in dict.fromkeys(pair.target for pair in PAIRS) if any(pair.target == target for pair in found)]
    yield "## Features\n"
    yield "For each target: in how many of its pairs a feature came out how. A dash stands where no source has the feature.\n"
    lines = ["| feature | " + " | ".join(target.title for target in targets) + " |", "|---|" + "---|" * len(targets)]
    for feature in all_features():
        cells = [_cell([outcomes[feature.name] for pair, outcomes in found.items() if pair.target == target and feature.name in outcomes])
                 for target in targets]  # fmt: skip
        lines.append(f"| {feature.about} | {' | '.join(cells)} |")
    yield "\n".join(lines) + "\n"


def _cell(all_modes: Sequence[dict[str, Outcome]]) -> str:
    numbers = Counter(worst(modes) for modes in all_modes)
    return ", ".join(f"{numbers[status]} {status}" for status in STATUSES if numbers[status]) or "-"


def _refusals(found: dict[Pair, Outcomes]) -> Iterable[str]:
    """Yield the reasons of refusals, with the documents that tell of them."""
    kinds: dict[str, set[str]] = {}
    for pair, outcomes in found.items():
        for modes in outcomes.values():
            for outcome in modes.values():
                if outcome.status == "refused" and outcome.kind:
                    kinds.setdefault(outcome.kind, set()).add(pair.target.family)
    yield "## Reasons of refusals\n"
    lines = ["| reason | targets | where it is documented |", "|---|---|---|"]
    for kind in KINDS:
        if kind.name in kinds:
            lines.append(f"| {kind.title} | {', '.join(sorted(kinds[kind.name]))} | [{kind.document}](../{kind.document}) |")
    yield "\n".join(lines) + "\n"


def features_of(pair: Pair, features: Sequence[Feature]) -> list[Feature]:
    """Return the features that a pair's source can run."""
    return [feature for feature in features if feature.runs_on(pair.source)]
