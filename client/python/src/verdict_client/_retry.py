"""When a call is repeated."""

from __future__ import annotations

import random
from typing import Literal

from ._errors import VerdictError

_LONGEST_PAUSE = 60.0
"""The rate limit counts the requests of a minute. A wait for the end of a day is the caller's."""
_FIRST_PAUSE = 0.5

_Rule = Literal["always", "when repeatable"]

_RETRIED: dict[str, _Rule] = {
    "rate_limit_exceeded": "always",
    "transient_failure": "always",
    "connection_failed": "when repeatable",
    "timed_out": "when repeatable",
}
"""The failures after which a call is retried. `always`: the service did nothing."""
_NO_RESPONSE = {502, 503, 504}
"""What a proxy says when it did not reach the service, or lost its response."""


def pause_before(error: VerdictError, retries: int, is_repeatable: bool) -> float | None:
    """Returns the seconds to wait before the next attempt.

    None: the call must not be retried, or the service asks for a longer wait than a call should take.
    """
    is_lost = error.code == "unexpected_response" and error.status in _NO_RESPONSE
    rule = "when repeatable" if is_lost else _RETRIED.get(error.code)
    if rule is None or (rule == "when repeatable" and not is_repeatable):
        return None
    # Callers that failed together come back apart.
    pause = _FIRST_PAUSE * 2**retries * (1 + random.random())
    asked = error.retry_after or 0.0
    return None if asked > _LONGEST_PAUSE else max(asked, pause)
