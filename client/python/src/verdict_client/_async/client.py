"""A client of one account."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from .._contract import GetAccountResponse, GetLimitsResponse, GetStatsQuery, GetStatsResponse
from .._requests import DEFAULT_RETRIES, DEFAULT_TIMEOUT, Settings
from .call import AsyncCaller
from .domains import AsyncDomains
from .emails import AsyncEmails
from .events import AsyncEvents, AsyncMessages
from .suppression import AsyncSuppression
from .webhooks import AsyncFirstEndpoint, AsyncEndpoints


class AsyncVerdict:
    """A client of one account.

    `url`: where the service is, such as `https://verdict.example.com`. `api_key`: `svc_live_...` or `svc_test_...`.
    `timeout`: how many seconds one attempt of a call waits for the service. A send takes up to 30 seconds, or what the
    operator has set. `max_retries`: how often a call is retried, with pauses.
    """

    def __init__(
        self, url: str, api_key: str, *, timeout: float = DEFAULT_TIMEOUT, max_retries: int = DEFAULT_RETRIES
    ) -> None:
        self._call = AsyncCaller(Settings(url=url, api_key=api_key, timeout=timeout, max_retries=max_retries))
        self.emails = AsyncEmails(self._call)
        self.events = AsyncEvents(self._call)
        self.messages = AsyncMessages(self._call)
        self.domains = AsyncDomains(self._call)
        self.suppression = AsyncSuppression(self._call)
        self.webhook = AsyncFirstEndpoint(self._call)
        self.webhooks = AsyncEndpoints(self._call)

    async def stats(self, query: GetStatsQuery | None = None, *, timeout: float | None = None) -> GetStatsResponse:
        """Returns counts, rates and latencies of the emails in a period."""
        result: GetStatsResponse = await self._call("getStats", query=query, timeout=timeout)
        return result

    async def account(self, *, timeout: float | None = None) -> GetAccountResponse:
        """Returns the account, and the key that asks."""
        result: GetAccountResponse = await self._call("getAccount", timeout=timeout)
        return result

    async def limits(self, *, timeout: float | None = None) -> GetLimitsResponse:
        """Returns the limits of the account."""
        result: GetLimitsResponse = await self._call("getLimits", timeout=timeout)
        return result

    async def close(self) -> None:
        """Closes the connections."""
        await self._call.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
