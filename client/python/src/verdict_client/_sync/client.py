"""A client of one account."""

# Generated from `_async` by `npm run gen`. Do not edit.

from __future__ import annotations

from types import TracebackType
from typing import Self

from .._contract import GetAccountResponse, GetLimitsResponse, GetStatsQuery, GetStatsResponse
from .._requests import DEFAULT_RETRIES, DEFAULT_TIMEOUT, Settings
from .call import Caller
from .domains import Domains
from .emails import Emails
from .events import Events, Messages
from .suppression import Suppression
from .webhooks import FirstEndpoint, Endpoints


class Verdict:
    """A client of one account.

    `url`: where the service is, such as `https://verdict.example.com`. `api_key`: `svc_live_...` or `svc_test_...`.
    `timeout`: how many seconds one attempt of a call waits for the service. A send takes up to 30 seconds, or what the
    operator has set. `max_retries`: how often a call is retried, with pauses.
    """

    def __init__(
        self, url: str, api_key: str, *, timeout: float = DEFAULT_TIMEOUT, max_retries: int = DEFAULT_RETRIES
    ) -> None:
        self._call = Caller(Settings(url=url, api_key=api_key, timeout=timeout, max_retries=max_retries))
        self.emails = Emails(self._call)
        self.events = Events(self._call)
        self.messages = Messages(self._call)
        self.domains = Domains(self._call)
        self.suppression = Suppression(self._call)
        self.webhook = FirstEndpoint(self._call)
        self.webhooks = Endpoints(self._call)

    def stats(self, query: GetStatsQuery | None = None, *, timeout: float | None = None) -> GetStatsResponse:
        """Returns counts, rates and latencies of the emails in a period."""
        result: GetStatsResponse = self._call("getStats", query=query, timeout=timeout)
        return result

    def account(self, *, timeout: float | None = None) -> GetAccountResponse:
        """Returns the account, and the key that asks."""
        result: GetAccountResponse = self._call("getAccount", timeout=timeout)
        return result

    def limits(self, *, timeout: float | None = None) -> GetLimitsResponse:
        """Returns the limits of the account."""
        result: GetLimitsResponse = self._call("getLimits", timeout=timeout)
        return result

    def close(self) -> None:
        """Closes the connections."""
        self._call.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
