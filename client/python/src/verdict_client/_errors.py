"""Why a call failed."""

from __future__ import annotations

from typing import Any, Literal

from ._contract import ErrorReason, FieldFault

ErrorCode = ErrorReason | Literal["connection_failed", "timed_out", "unexpected_response"]
"""An error code of the service, or a fault on the way to it.

- `connection_failed`: no response arrived.
- `timed_out`: no response arrived in time.
- `unexpected_response`: the response is not one of the service, such as an error page of a proxy.
"""


class VerdictError(Exception):
    """A call that failed. A bounce or a rejection is not an error."""

    def __init__(
        self,
        message: str,
        *,
        code: ErrorCode,
        status: int | None = None,
        request_id: str | None = None,
        details: list[FieldFault] | None = None,
        retry_after: float | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        """HTTP status. None when there was no response."""
        self.request_id = request_id
        """Identifier of the request in the log of the service."""
        self.details = details or []
        """The invalid fields of the request."""
        self.retry_after = retry_after
        """Seconds to wait before you try again."""
        self.idempotency_key = idempotency_key
        """The key that every attempt of the call carried. Without a response you do not know whether the email was
        sent: a repeat of the call with this key returns its outcome, and sends it only if no attempt did.
        """

    def __reduce__(self) -> tuple[Any, ...]:
        # The arguments are keywords, which `Exception` would lose on its way from a process of a pool.
        return (_with_fields, (type(self), self.args, self.__dict__))


def _with_fields(kind: type[VerdictError], args: tuple[Any, ...], fields: dict[str, Any]) -> VerdictError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error
