"""Calls the service, and repeats what may be repeated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import anyio
import httpx

from .._errors import VerdictError
from .._requests import Request, Settings, fault_of, result_of
from .._retry import pause_before


class AsyncCaller:
    """The connection of a client. Every method of a client is one call of it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # A redirect would turn a POST into a GET, or send the key to another host.
        self._http = httpx.AsyncClient(follow_redirects=False)

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def __call__(
        self,
        name: str,
        *,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        sandbox: bool | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Any:
        """Returns the body of the response. Raises VerdictError."""
        settings = self._settings
        request = settings.request(
            name, path=path, query=query, body=body, idempotency_key=idempotency_key, sandbox=sandbox
        )
        most = settings.max_retries if max_retries is None else max_retries
        retries = 0
        while True:
            result = await self._attempt(request, settings.timeout if timeout is None else timeout)
            if not isinstance(result, VerdictError):
                return result
            pause = pause_before(result, retries, request.is_repeatable) if retries < most else None
            if pause is None:
                raise result
            await anyio.sleep(pause)
            retries += 1

    async def _attempt(self, request: Request, timeout: float) -> Any:
        """Returns the body of a 200, or why there is none."""
        try:
            response = await self._http.request(
                request.method, request.url, headers=request.headers, content=request.content, timeout=timeout
            )
        except httpx.RequestError as fault:
            return fault_of(fault, request, timeout)
        return result_of(response, request)


async def async_items(page: Callable[[str | None], Awaitable[Any]], items: str) -> AsyncIterator[Any]:
    """Yields the items of every page, each read when it is needed."""
    cursor: str | None = None
    while True:
        found = await page(cursor)
        for item in found[items]:
            yield item
        cursor = found.get("next_cursor")
        if cursor is None:
            return
