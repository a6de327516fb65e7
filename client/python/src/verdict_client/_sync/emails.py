"""Sends and reads emails."""

# Generated from `_async` by `npm run gen`. Do not edit.

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._contract import (
    BatchItem,
    GetEmailResponse,
    GetReceiptResponse,
    ListedEmail,
    ListEmailsQuery,
    ListEmailsResponse,
    ListRefusedSendsQuery,
    ListRefusedSendsResponse,
    SendBatchResponse,
    SendRequest,
    SendResponse,
)
from .._requests import BATCH_TIMEOUT
from .call import Caller, items_of


class Emails:
    def __init__(self, call: Caller) -> None:
        self._call = call

    def send(
        self,
        message: SendRequest,
        *,
        idempotency_key: str | None = None,
        sandbox: bool | None = None,
        retry_of: str | None = None,
        timeout: float | None = None,
    ) -> SendResponse:
        """Sends a message and returns what the recipients' mail servers said.

        A bounce or a rejection is not an error. `idempotency_key`: your own key for this send; a call with a key that
        was used within 24 hours returns the first outcome and sends nothing. By default each call makes a random one.
        `sandbox`: makes every check and sends nothing. `retry_of`: the message that this one sends again.
        """
        body = {**message, "retry_of": retry_of} if retry_of is not None else message
        result: SendResponse = self._call(
            "sendEmail", body=body, idempotency_key=idempotency_key, sandbox=sandbox, timeout=timeout
        )
        return result

    def validate(self, message: SendRequest, *, timeout: float | None = None) -> SendResponse:
        """Makes every check of a send and sends nothing."""
        result: SendResponse = self._call("validateEmail", body=message, timeout=timeout)
        return result

    def batch(
        self,
        messages: Sequence[BatchItem],
        *,
        idempotency_key: str | None = None,
        sandbox: bool | None = None,
        timeout: float = BATCH_TIMEOUT,
    ) -> SendBatchResponse:
        """Sends 1 to 100 messages at a time and returns a result for each, in their order."""
        if isinstance(messages, (dict, str)):
            raise TypeError("messages: must be a list, as in batch([first, second])")
        body = {"emails": list(messages)}
        result: SendBatchResponse = self._call(
            "sendEmailBatch", body=body, idempotency_key=idempotency_key, sandbox=sandbox, timeout=timeout
        )
        return result

    def get(self, message_id: str, *, timeout: float | None = None) -> GetEmailResponse:
        """Returns a stored email with the outcome of every recipient and its events."""
        result: GetEmailResponse = self._call("getEmail", path={"id": message_id}, timeout=timeout)
        return result

    def receipt(self, message_id: str, *, timeout: float | None = None) -> GetReceiptResponse:
        """Returns a signed receipt of a stored email, which anyone can verify."""
        result: GetReceiptResponse = self._call("getReceipt", path={"id": message_id}, timeout=timeout)
        return result

    def list(self, query: ListEmailsQuery | None = None, *, timeout: float | None = None) -> ListEmailsResponse:
        """Returns one page of emails, newest first."""
        result: ListEmailsResponse = self._call("listEmails", query=query, timeout=timeout)
        return result

    def refused(
        self, query: ListRefusedSendsQuery | None = None, *, timeout: float | None = None
    ) -> ListRefusedSendsResponse:
        """Returns one page of the sends of the last 7 days that ended with an error, newest first. Nothing was sent."""
        result: ListRefusedSendsResponse = self._call("listRefusedSends", query=query, timeout=timeout)
        return result

    def all(self, query: ListEmailsQuery | None = None, *, timeout: float | None = None) -> Iterator[ListedEmail]:
        """Yields all emails that match, newest first. `limit` is the size of the pages it reads."""

        def page(cursor: str | None) -> ListEmailsResponse:
            given: ListEmailsQuery = query or {}
            return self.list(given if cursor is None else {**given, "cursor": cursor}, timeout=timeout)

        return items_of(page, "emails")
