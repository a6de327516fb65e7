"""Sending domains."""

# Generated from `_async` by `npm run gen`. Do not edit.

from __future__ import annotations

from .._contract import CreateDomainRequest, DeleteDomainResponse, Domain, ListDomainsResponse, UpdateDomainRequest
from .call import Caller


class Domains:
    def __init__(self, call: Caller) -> None:
        self._call = call

    def list(self, *, timeout: float | None = None) -> ListDomainsResponse:
        """Returns all domains of the account, ordered by name."""
        result: ListDomainsResponse = self._call("listDomains", timeout=timeout)
        return result

    def create(self, domain: CreateDomainRequest, *, timeout: float | None = None) -> Domain:
        """Adds a domain and returns the DNS records to publish. The same name again returns the same domain."""
        result: Domain = self._call("createDomain", body=domain, timeout=timeout)
        return result

    def get(self, domain_id: str, *, timeout: float | None = None) -> Domain:
        """Returns a domain with its records and what DNS contained at the last check."""
        result: Domain = self._call("getDomain", path={"id": domain_id}, timeout=timeout)
        return result

    def update(self, domain_id: str, changes: UpdateDomainRequest, *, timeout: float | None = None) -> Domain:
        """Changes settings of a domain. Absent fields keep their values."""
        result: Domain = self._call("updateDomain", path={"id": domain_id}, body=changes, timeout=timeout)
        return result

    def delete(self, domain_id: str, *, timeout: float | None = None) -> DeleteDomainResponse:
        """Deletes a domain and its DKIM keys."""
        result: DeleteDomainResponse = self._call("deleteDomain", path={"id": domain_id}, timeout=timeout)
        return result

    def verify(self, domain_id: str, *, timeout: float | None = None) -> Domain:
        """Checks DNS now and returns what it contained."""
        result: Domain = self._call("verifyDomain", path={"id": domain_id}, timeout=timeout)
        return result

    def rotate_dkim(self, domain_id: str, *, timeout: float | None = None) -> Domain:
        """Creates the next DKIM key and returns its record among those to publish."""
        result: Domain = self._call("rotateDkim", path={"id": domain_id}, timeout=timeout)
        return result
