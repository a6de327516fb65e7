"""Reads events, and sends them to the endpoints again."""

# Generated from `_async` by `npm run gen`. Do not edit.

from __future__ import annotations

import time
from collections.abc import Iterator

from .._contract import (
    Event,
    EventChange,
    GetEventResponse,
    ListChangesQuery,
    ListChangesResponse,
    ListEventsQuery,
    ListEventsResponse,
    ReplayEventResponse,
    ReplayMessageResponse,
)
from .._errors import VerdictError
from .._retry import pause_before
from .call import Caller, items_of

_WAIT = 20
"""How long a call of a stream waits for an event, in seconds."""
_MOST_RETRIES = 5
"""After this many failures in a row the pauses grow no more."""


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

    def changes(
        self, query: ListChangesQuery | None = None, *, timeout: float | None = None, max_retries: int | None = None
    ) -> ListChangesResponse:
        """Returns the events after a position, oldest first, and the position to go on at."""
        result: ListChangesResponse = self._call(
            "listChanges", query=query, timeout=timeout, max_retries=max_retries
        )
        return result

    def stream(self, query: ListChangesQuery | None = None) -> Iterator[EventChange]:
        """Yields events as they are committed, each once, oldest first, with the position after each.

        Store the position when you have handled the event, and pass it as `after` to resume. The stream reads on after
        every failure that may pass, and raises what will not.
        """
        asked: ListChangesQuery = {"limit": 100, **(query or {})}
        failures = 0
        while True:
            try:
                # The first call only learns where the stream starts: a later failure must not skip what comes meanwhile.
                if "after" in asked:
                    asked = {**asked, "wait_s": _WAIT}
                found = self.changes(asked, timeout=2.0 * _WAIT, max_retries=0)
            except VerdictError as error:
                pause = pause_before(error, min(failures, _MOST_RETRIES), True)
                if pause is None:
                    raise
                failures += 1
                time.sleep(pause)
                continue
            failures = 0
            for change in found["events"]:
                yield change
            asked = {**asked, "after": found["position"]}

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
