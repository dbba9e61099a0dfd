"""The tool that runs the statement collections names each refusal by a reason that is documented."""

from __future__ import annotations

import pytest

from tests.statement_collections.reasons import REASONS, Reason, is_documented, reason_of


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.title)
def test_each_reason_is_in_the_documentation(reason: Reason) -> None:
    assert is_documented(reason)


def test_an_unknown_reason_has_no_name() -> None:
    assert reason_of("something that nobody has thought of") is None
