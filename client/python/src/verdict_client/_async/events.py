"""Reads events, and sends them to the endpoints again."""

from __future__ import annotations

from collections.abc import AsyncIterator

from .._contract import (
    Event,
    GetEventResponse,
    ListEventsQuery,
    ListEventsResponse,
    ReplayEventResponse,
    ReplayMessageResponse,
)
from .call import AsyncCaller, async_items


class AsyncEvents:
    def __init__(self, call: AsyncCaller) -> None:
        self._call = call

    async def list(self, query: ListEventsQuery | None = None, *, timeout: float | None = None) -> ListEventsResponse:
        """Returns one page of events, newest first."""
        result: ListEventsResponse = await self._call("listEvents", query=query, timeout=timeout)
        return result

    def all(self, query: ListEventsQuery | None = None, *, timeout: float | None = None) -> AsyncIterator[Event]:
        """Yields all events that match, newest first. `limit` is the size of the pages it reads."""

        async def page(cursor: str | None) -> ListEventsResponse:
            given: ListEventsQuery = query or {}
            return await self.list(given if cursor is None else {**given, "cursor": cursor}, timeout=timeout)

        return async_items(page, "events")

    async def get(self, event_id: str, *, timeout: float | None = None) -> GetEventResponse:
        """Returns one event with every attempt to push it to your endpoints."""
        result: GetEventResponse = await self._call("getEvent", path={"event_id": event_id}, timeout=timeout)
        return result

    async def replay(
        self, event_id: str, *, endpoint_id: str | None = None, timeout: float | None = None
    ) -> ReplayEventResponse:
        """Sends a stored event to your endpoints again, or to one of them. It sends no email."""
        body = {} if endpoint_id is None else {"endpoint_id": endpoint_id}
        result: ReplayEventResponse = await self._call(
            "replayEvent", path={"event_id": event_id}, body=body, timeout=timeout
        )
        return result


class AsyncMessages:
    def __init__(self, call: AsyncCaller) -> None:
        self._call = call

    async def replay(
        self, message_id: str, *, endpoint_id: str | None = None, timeout: float | None = None
    ) -> ReplayMessageResponse:
        """Sends the stored events of a message to your endpoints again, or to one of them. It sends no email."""
        body = {} if endpoint_id is None else {"endpoint_id": endpoint_id}
        result: ReplayMessageResponse = await self._call(
            "replayMessage", path={"message_id": message_id}, body=body, timeout=timeout
        )
        return result
