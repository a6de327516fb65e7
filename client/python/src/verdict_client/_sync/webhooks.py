"""Webhook endpoints. A lost response is the only one that shows a secret, so calls that create one are not repeated."""

# Generated from `_async` by `npm run gen`. Do not edit.

from __future__ import annotations

from .._contract import (
    CreateEndpointRequest,
    DeleteEndpointResponse,
    DeleteWebhookResponse,
    Endpoint,
    ListEndpointsResponse,
    PutWebhookRequest,
    TestWebhookResponse,
    UpdateEndpointRequest,
    Webhook,
)
from .call import Caller


class FirstEndpoint:
    """The account's first endpoint, which is enough for most."""

    def __init__(self, call: Caller) -> None:
        self._call = call

    def get(self, *, timeout: float | None = None) -> Webhook:
        """Returns the endpoint and its health, without the secret."""
        result: Webhook = self._call("getWebhook", timeout=timeout)
        return result

    def set(self, endpoint: PutWebhookRequest, *, timeout: float | None = None) -> Webhook:
        """Sets the endpoint. The first call returns the secret that signs requests, and no other call shows it."""
        result: Webhook = self._call("putWebhook", body=endpoint, timeout=timeout, max_retries=0)
        return result

    def delete(self, *, timeout: float | None = None) -> DeleteWebhookResponse:
        """Deletes the endpoint and its secret, and cancels waiting attempts."""
        result: DeleteWebhookResponse = self._call("deleteWebhook", timeout=timeout)
        return result

    def test(self, *, timeout: float | None = None) -> TestWebhookResponse:
        """Posts a signed `webhook.test` to the endpoint now and returns the outcome."""
        result: TestWebhookResponse = self._call("testWebhook", timeout=timeout)
        return result

    def rotate_secret(self, *, timeout: float | None = None) -> Webhook:
        """Creates a new secret and returns it, once. For 24 hours requests are also signed with the previous one."""
        result: Webhook = self._call("rotateWebhookSecret", timeout=timeout, max_retries=0)
        return result


class Endpoints:
    """All endpoints of the account."""

    def __init__(self, call: Caller) -> None:
        self._call = call

    def list(self, *, timeout: float | None = None) -> ListEndpointsResponse:
        """Returns the account's endpoints with their health, the oldest first, without their secrets."""
        result: ListEndpointsResponse = self._call("listEndpoints", timeout=timeout)
        return result

    def create(self, endpoint: CreateEndpointRequest, *, timeout: float | None = None) -> Endpoint:
        """Adds an endpoint, and returns the secret that signs its requests. No other call shows it."""
        result: Endpoint = self._call("createEndpoint", body=endpoint, timeout=timeout, max_retries=0)
        return result

    def get(self, endpoint_id: str, *, timeout: float | None = None) -> Endpoint:
        """Returns an endpoint and its health, without the secret."""
        result: Endpoint = self._call("getEndpoint", path={"endpoint_id": endpoint_id}, timeout=timeout)
        return result

    def update(
        self, endpoint_id: str, change: UpdateEndpointRequest, *, timeout: float | None = None
    ) -> Endpoint:
        """Changes the members that are given. `[]` removes the filter `tags`, `tenant_ids` or `domains`."""
        path = {"endpoint_id": endpoint_id}
        result: Endpoint = self._call("updateEndpoint", path=path, body=change, timeout=timeout)
        return result

    def delete(self, endpoint_id: str, *, timeout: float | None = None) -> DeleteEndpointResponse:
        """Deletes an endpoint and its secret, and cancels the attempts that wait for it."""
        path = {"endpoint_id": endpoint_id}
        result: DeleteEndpointResponse = self._call("deleteEndpoint", path=path, timeout=timeout)
        return result

    def test(self, endpoint_id: str, *, timeout: float | None = None) -> TestWebhookResponse:
        """Posts a signed `webhook.test` to an endpoint now and returns the outcome."""
        path = {"endpoint_id": endpoint_id}
        result: TestWebhookResponse = self._call("testEndpoint", path=path, timeout=timeout)
        return result

    def rotate_secret(self, endpoint_id: str, *, timeout: float | None = None) -> Endpoint:
        """Creates a new secret and returns it, once. For 24 hours requests are also signed with the previous one."""
        path = {"endpoint_id": endpoint_id}
        result: Endpoint = self._call("rotateEndpointSecret", path=path, timeout=timeout, max_retries=0)
        return result
