"""Reads events, and sends them to the endpoints again."""

# Generated from `_async` by `npm run gen`. Do not edit.

from __future__ import annotations

from collections.abc import Iterator

from .._contract import (
    Event,
    GetEventResponse,
    ListEventsQuery,
    ListEventsResponse,
    ReplayEventResponse,
    ReplayMessageResponse,
)
from .call import Caller, items_of


class Events:
    def __init__(self, call: Caller) -> None:
        self._call = call

    def list(self, query: ListEventsQuery | None = None, *, timeout: float | None = None) -> ListEventsResponse:
        """Returns one page of events, newest first."""
        result: ListEventsResponse = self._call("listEvents", query=query, timeout=timeout)
        return result

    def all(self, query: ListEventsQuery | None = None, *, timeout: float | None = None) -> Iterator[Event]:
        """Yields all events that match, newest first. `limit` is the size of the pages it reads."""

        def page(cursor: str | None) -> ListEventsResponse:
            given: ListEventsQuery = query or {}
            return self.list(given if cursor is None else {**given, "cursor": cursor}, timeout=timeout)

        return items_of(page, "events")

    def get(self, event_id: str, *, timeout: float | None = None) -> GetEventResponse:
        """Returns one event with every attempt to push it to your endpoints."""
        result: GetEventResponse = self._call("getEvent", path={"event_id": event_id}, timeout=timeout)
        return result

    def replay(
        self, event_id: str, *, endpoint_id: str | None = None, timeout: float | None = None
    ) -> ReplayEventResponse:
        """Sends a stored event to your endpoints again, or to one of them. It sends no email."""
        body = {} if endpoint_id is None else {"endpoint_id": endpoint_id}
        result: ReplayEventResponse = self._call(
            "replayEvent", path={"event_id": event_id}, body=body, timeout=timeout
        )
        return result


class Messages:
    def __init__(self, call: Caller) -> None:
        self._call = call

    def replay(
        self, message_id: str, *, endpoint_id: str | None = None, timeout: float | None = None
    ) -> ReplayMessageResponse:
        """Sends the stored events of a message to your endpoints again, or to one of them. It sends no email."""
        body = {} if endpoint_id is None else {"endpoint_id": endpoint_id}
        result: ReplayMessageResponse = self._call(
            "replayMessage", path={"message_id": message_id}, body=body, timeout=timeout
        )
        return result
