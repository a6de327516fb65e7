"""Python client of Verdict, a service that sends email and answers with the recipient server's own verdict."""

from . import _contract as types
from ._async.client import AsyncVerdict
from ._contract import (
    BatchItem,
    BatchResult,
    Event,
    SendRequest,
    SendResponse,
)
from ._errors import ErrorCode, VerdictError
from ._sync.client import Verdict
from ._webhook import WebhookError, WebhookEvent, WebhookHeaders, verify_webhook

__all__ = [
    "AsyncVerdict",
    "BatchItem",
    "BatchResult",
    "ErrorCode",
    "Event",
    "SendRequest",
    "SendResponse",
    "Verdict",
    "VerdictError",
    "WebhookError",
    "WebhookEvent",
    "WebhookHeaders",
    "types",
    "verify_webhook",
]
