"""Verifies that a request to your webhook endpoint comes from the service.

It needs only Python 3.9 or later. In Flask, call `check(request.get_data(), request.headers, secret)`; in Django,
`check(request.body, request.headers, secret)`; in FastAPI, `check(await request.body(), request.headers, secret)`.
"""

import hashlib
import hmac
import re
import time

TOLERANCE_SECONDS = 300


def check(body, headers, secret, now=None):
    """Returns the status to respond with.

    It is 200 for a request from the service, 401 for a wrong signature, 400 for a time too far from the clock. `body`
    is the body as it arrived, before any JSON is parsed. `now` is in Unix seconds.
    """
    timestamp = headers.get("Service-Timestamp", "")
    expected = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest().encode()
    # For 24 hours after a rotation of the secret, the second header has the signature of the previous one.
    signatures = [headers.get(name, "") for name in ("Service-Signature", "Service-Signature-Previous")]
    if not any(hmac.compare_digest(given.encode(), expected) for given in signatures):
        return 401
    now = time.time() if now is None else now
    is_recent = re.fullmatch("[0-9]+", timestamp) and abs(now - int(timestamp)) <= TOLERANCE_SECONDS
    return 200 if is_recent else 400
