"""Verifies the requests to a webhook endpoint."""

from __future__ import annotations

import hmac
import json
import re
import time
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Literal, cast

from ._contract import EmailDeliveryPayload, EmailFeedbackPayload, WebhookTestPayload

WebhookEvent = EmailDeliveryPayload | EmailFeedbackPayload | WebhookTestPayload
"""The body of a webhook, by its kind, `event`. Ignore kinds that you do not know: later versions may add some."""

WebhookHeaders = Mapping[str, str] | Iterable[tuple[str, str]]
"""Headers as Flask, Django (`request.headers`), Starlette and FastAPI have them, or as pairs."""

_TOLERANCE_SECONDS = 300
_SIGNATURES = ("service-signature", "service-signature-previous")
"""While both secrets of a rotation are valid, the second header has the signature of the previous one."""


class WebhookError(Exception):
    """A request to the webhook endpoint that is not one of the service, or too old to trust."""

    def __init__(self, message: str, status: Literal[400, 401]) -> None:
        super().__init__(message)
        self.status: Literal[400, 401] = status
        """The status to respond with: 401 for a wrong or missing signature, 400 for a time too far from the clock."""


def verify_webhook(
    raw_body: bytes | str, headers: WebhookHeaders, secret: str, *, now: float | None = None
) -> WebhookEvent:
    """Returns the event of a request that the service signed with this secret within the last 300 seconds.

    Raises `WebhookError` for every other request. `raw_body` is the body as it arrived: JSON that was parsed and
    written again has other bytes.
    """
    pairs = cast(Mapping[str, str], headers).items() if isinstance(headers, Mapping) else headers
    found = {name.lower(): value for name, value in pairs}
    timestamp = found.get("service-timestamp")
    signatures = [found[name] for name in _SIGNATURES if name in found]
    if timestamp is None:
        raise WebhookError("the header Service-Timestamp is missing", 401)
    if not signatures:
        raise WebhookError("the header Service-Signature is missing", 401)
    body = raw_body.encode() if isinstance(raw_body, str) else bytes(raw_body)
    signed = hmac.new(secret.encode(), timestamp.encode(errors="replace") + b"." + body, sha256).hexdigest().encode()
    # Compares all of them, each in constant time.
    if not any([hmac.compare_digest(signed, signature.encode(errors="replace")) for signature in signatures]):
        message = "the signature does not match: the secret or the body is not the one that was signed"
        raise WebhookError(message, 401)
    current = time.time() if now is None else now
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(current - int(timestamp)) > _TOLERANCE_SECONDS:
        raise WebhookError(f"Service-Timestamp is more than {_TOLERANCE_SECONDS} seconds from this clock", 400)
    return cast(WebhookEvent, json.loads(body))
