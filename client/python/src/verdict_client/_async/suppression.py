"""Addresses that are never mailed."""

from __future__ import annotations

from collections.abc import AsyncIterator

from .._contract import (
    ListSuppressionsQuery,
    RemoveSuppressionQuery,
    SuppressionEntry,
    SuppressionServiceAddRequest,
    SuppressionServiceImportRequest,
    SuppressionServiceImportResponse,
    SuppressionServiceLiftRequest,
    SuppressionServiceLiftResponse,
    SuppressionServiceListResponse,
    SuppressionServiceRemoveResponse,
    SuppressionServiceUndoImportResponse,
)
from .call import AsyncCaller, async_items


class AsyncSuppression:
    def __init__(self, call: AsyncCaller) -> None:
        self._call = call

    async def list(
        self, query: ListSuppressionsQuery | None = None, *, timeout: float | None = None
    ) -> SuppressionServiceListResponse:
        """Returns one page of entries, newest first."""
        result: SuppressionServiceListResponse = await self._call("listSuppressions", query=query, timeout=timeout)
        return result

    def all(
        self, query: ListSuppressionsQuery | None = None, *, timeout: float | None = None
    ) -> AsyncIterator[SuppressionEntry]:
        """Yields all entries that match, newest first. `limit` is the size of the pages it reads."""

        async def page(cursor: str | None) -> SuppressionServiceListResponse:
            given: ListSuppressionsQuery = query or {}
            return await self.list(given if cursor is None else {**given, "cursor": cursor}, timeout=timeout)

        return async_items(page, "entries")

    async def add(self, entry: SuppressionServiceAddRequest, *, timeout: float | None = None) -> SuppressionEntry:
        """Adds one address and returns its entry."""
        result: SuppressionEntry = await self._call("addSuppression", body=entry, timeout=timeout)
        return result

    async def import_addresses(
        self, entries: SuppressionServiceImportRequest, *, timeout: float | None = None
    ) -> SuppressionServiceImportResponse:
        """Adds 1 to 10,000 addresses, from a list or a generator. Invalid ones are skipped and reported. With
        `dry_run` it only counts.
        """
        body = {**entries, "emails": list(entries["emails"])}
        result: SuppressionServiceImportResponse = await self._call("importSuppressions", body=body, timeout=timeout)
        return result

    async def undo_import(
        self, import_id: str, *, timeout: float | None = None
    ) -> SuppressionServiceUndoImportResponse:
        """Removes what an import added, and puts back what it replaced."""
        result: SuppressionServiceUndoImportResponse = await self._call(
            "undoSuppressionImport", path={"import_id": import_id}, timeout=timeout
        )
        return result

    async def remove(
        self, email: str, query: RemoveSuppressionQuery | None = None, *, timeout: float | None = None
    ) -> SuppressionServiceRemoveResponse:
        """Removes one address from the list of the account or of a tenant."""
        result: SuppressionServiceRemoveResponse = await self._call(
            "removeSuppression", path={"email": email}, query=query, timeout=timeout
        )
        return result

    async def lift(
        self, filters: SuppressionServiceLiftRequest, *, timeout: float | None = None
    ) -> SuppressionServiceLiftResponse:
        """Removes the entries that bounces made in a time. With `dry_run` it only shows them."""
        result: SuppressionServiceLiftResponse = await self._call("liftSuppressions", body=filters, timeout=timeout)
        return result
