"""Requests to the service and what its responses say, without any input or output."""

from __future__ import annotations

import json
import re
import uuid
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx

from ._contract import ROUTES
from ._errors import VerdictError

DEFAULT_TIMEOUT = 40.0
"""A send takes up to 30 seconds, or what the operator has set."""
BATCH_TIMEOUT = 120.0
"""A batch takes up to 100 seconds, and a repeat that waits for it 110."""
DEFAULT_RETRIES = 2

_PRINTABLE = re.compile(r"[!-~]([ -~]{0,254}[!-~])?")
_API_KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class Request:
    """One call. All its attempts are equal, and carry one key, so that they send one email at most."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes | None
    idempotency_key: str | None
    is_repeatable: bool


@dataclass(frozen=True)
class Settings:
    """Where the service is, and how it is called."""

    url: str
    api_key: str
    timeout: float
    max_retries: int

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https") or not urlsplit(self.url).netloc:
            raise ValueError("url: required, such as https://verdict.example.com")
        # The message must not show the key.
        if not _API_KEY.fullmatch(self.api_key):
            raise ValueError("api_key: required, svc_live_... or svc_test_..., without spaces and line breaks")

    def request(
        self,
        name: str,
        *,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, object] | None = None,
        idempotency_key: str | None = None,
        sandbox: bool | None = None,
    ) -> Request:
        """The request of a call, by its name in the contract."""
        method, template, takes_key = ROUTES[name]
        filled = re.sub(r"\{(\w+)\}", lambda found: quote((path or {})[found[1]], safe=""), template)
        given = {field: _text(field, value) for field, value in _pairs(query or {}) if value is not None}
        key = _checked(str(uuid.uuid4()) if idempotency_key is None else idempotency_key) if takes_key else None
        headers = {"accept": "application/json", "authorization": f"Bearer {self.api_key}"}
        if body is not None:
            headers["content-type"] = "application/json"
        if key is not None:
            headers["idempotency-key"] = key
        if sandbox is not None:
            headers["x-service-sandbox"] = "true" if sandbox else "false"
        return Request(
            method=method,
            url=self.url.rstrip("/") + filled + (f"?{urlencode(given)}" if given else ""),
            headers=headers,
            content=None if body is None else json.dumps(body, default=_encoded).encode(),
            idempotency_key=key,
            is_repeatable=takes_key or method == "GET",
        )


def _checked(key: str) -> str:
    if not _PRINTABLE.fullmatch(key):
        raise ValueError("idempotency_key: must have 1 to 256 printable ASCII characters, and no space at its ends")
    return key


def _pairs(query: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The pairs of a mapping are parameters of their own: `metadata.order`."""
    for field, value in query.items():
        if isinstance(value, Mapping):
            yield from ((f"{field}.{key}", one) for key, one in value.items())
        else:
            yield field, value


def _text(field: str, value: object) -> str:
    """The text of a filter. The service reads times with an offset, and dates."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ValueError(f"{field}: the time needs a time zone, such as datetime.now(timezone.utc)")
        return value.isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


def _encoded(value: object) -> str:
    """Bytes are base64 in JSON."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(value).decode("ascii")
    raise TypeError(f"a message cannot contain a value of type {type(value).__name__}")


def result_of(response: httpx.Response, request: Request) -> Any:
    """The body of a 200. Any other response is returned as an error."""
    key = request.idempotency_key
    body = _parsed(response)
    if response.status_code == 200 and isinstance(body, dict):
        return body if key is None else body | _replay_of(response.headers)
    retry_after = _seconds(response.headers.get("retry-after"))
    request_id = response.headers.get("x-request-id")
    if not isinstance(body, dict) or not isinstance(body.get("error"), str) or not isinstance(body.get("message"), str):
        return VerdictError(
            f"unexpected response with status {response.status_code}",
            code="unexpected_response",
            status=response.status_code,
            request_id=request_id,
            retry_after=retry_after,
            idempotency_key=key,
        )
    return VerdictError(
        body["message"],
        code=body["error"],
        status=response.status_code,
        request_id=body.get("request_id", request_id),
        details=body.get("details"),
        retry_after=body.get("retry_after", retry_after),
        idempotency_key=key,
    )


def fault_of(fault: httpx.RequestError, request: Request, timeout: float) -> VerdictError:
    """What it means that no response arrived."""
    key = request.idempotency_key
    if isinstance(fault, httpx.TimeoutException):
        error = VerdictError(f"no response within {timeout:g} s", code="timed_out", idempotency_key=key)
    else:
        host = urlsplit(request.url)
        reason = str(fault) or type(fault).__name__
        message = f"no response from {host.scheme}://{host.netloc}: {reason}"
        error = VerdictError(message, code="connection_failed", idempotency_key=key)
    error.__cause__ = fault
    return error


def _replay_of(headers: httpx.Headers) -> dict[str, bool]:
    replayed = {"replayed": True} if headers.get("idempotent-replayed") == "true" else {}
    return replayed | ({"mismatch": True} if "idempotency-mismatch" in headers else {})


def _parsed(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(r"\d+", text) else None
