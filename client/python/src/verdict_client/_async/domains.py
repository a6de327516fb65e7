"""Sending domains."""

from __future__ import annotations

from .._contract import CreateDomainRequest, DeleteDomainResponse, Domain, ListDomainsResponse, UpdateDomainRequest
from .call import AsyncCaller


class AsyncDomains:
    def __init__(self, call: AsyncCaller) -> None:
        self._call = call

    async def list(self, *, timeout: float | None = None) -> ListDomainsResponse:
        """Returns all domains of the account, ordered by name."""
        result: ListDomainsResponse = await self._call("listDomains", timeout=timeout)
        return result

    async def create(self, domain: CreateDomainRequest, *, timeout: float | None = None) -> Domain:
        """Adds a domain and returns the DNS records to publish. The same name again returns the same domain."""
        result: Domain = await self._call("createDomain", body=domain, timeout=timeout)
        return result

    async def get(self, domain_id: str, *, timeout: float | None = None) -> Domain:
        """Returns a domain with its records and what DNS contained at the last check."""
        result: Domain = await self._call("getDomain", path={"id": domain_id}, timeout=timeout)
        return result

    async def update(self, domain_id: str, changes: UpdateDomainRequest, *, timeout: float | None = None) -> Domain:
        """Changes settings of a domain. Absent fields keep their values."""
        result: Domain = await self._call("updateDomain", path={"id": domain_id}, body=changes, timeout=timeout)
        return result

    async def delete(self, domain_id: str, *, timeout: float | None = None) -> DeleteDomainResponse:
        """Deletes a domain and its DKIM keys."""
        result: DeleteDomainResponse = await self._call("deleteDomain", path={"id": domain_id}, timeout=timeout)
        return result

    async def verify(self, domain_id: str, *, timeout: float | None = None) -> Domain:
        """Checks DNS now and returns what it contained."""
        result: Domain = await self._call("verifyDomain", path={"id": domain_id}, timeout=timeout)
        return result

    async def rotate_dkim(self, domain_id: str, *, timeout: float | None = None) -> Domain:
        """Creates the next DKIM key and returns its record among those to publish."""
        result: Domain = await self._call("rotateDkim", path={"id": domain_id}, timeout=timeout)
        return result
