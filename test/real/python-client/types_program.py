"""What type checkers know of outcomes. `warn_unused_ignores` fails where a mistake is not found any more."""

from typing import Literal, assert_type

from verdict_client import BatchResult, Event, SendResponse, WebhookEvent, types


def outcome(result: SendResponse) -> str:
    result["reason"]  # type: ignore[typeddict-item]
    if result["status"] == "delivered":
        result["reason"]  # type: ignore[typeddict-item]
        return result["message_id"]
    if result["status"] == "bounced":
        assert_type(result["reason"], types.BounceReason)
        result["suppression"]  # type: ignore[typeddict-item]
        return result["reason"]
    assert_type(result["status"], Literal["rejected"])
    assert_type(result["reason"], types.RejectionReason)
    return result["reason"]


def batch(result: BatchResult) -> str:
    if "error" in result:
        assert_type(result["error"], types.ErrorReason)
        return result["message"]
    return result["message_id"]


def event(found: Event | WebhookEvent) -> str:
    if found["event"] == "email.feedback":
        assert_type(found["feedback"], types.FeedbackKind)
        return found["recipient"]
    return found["event"]


request: types.SendRequest = {"to": "a@example.com", "from": "b@example.com", "subjekt": "a"}  # type: ignore[typeddict-unknown-key]
query: types.ListEmailsQuery = {"status": "delivred"}  # type: ignore[typeddict-item]
