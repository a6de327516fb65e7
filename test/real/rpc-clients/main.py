"""Calls the service with grpcio and connectrpc, as each is installed and with its usual options. Prints the results."""

import json
import os
from urllib.parse import urlsplit

import grpc
from connectrpc.errors import ConnectError
from verdict.v1 import (
    domains_connect,
    domains_pb2,
    domains_pb2_grpc,
    emails_connect,
    emails_pb2,
    emails_pb2_grpc,
    events_connect,
    events_pb2,
    events_pb2_grpc,
    outcomes_pb2,
)

URL = os.environ["VERDICT_URL"]
AUTHORIZATION = f"Bearer {os.environ['VERDICT_API_KEY']}"
KEEPALIVE = [("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_permit_without_calls", 1)]


def message(local: str, html: str = "<p>It works.</p>") -> emails_pb2.SendRequest:
    request = emails_pb2.SendRequest(to=[f"{local}@simulator.test"], subject="Hello", html=html)
    # `from` is a keyword of Python.
    setattr(request, "from", os.environ["FROM"])
    return request


LARGE = message("delivered", "<p>It works.</p>" * 20_000)
FAULTY = emails_pb2.SendRequest(subject="Hello")


def status(response: emails_pb2.SendResponse) -> str:
    return outcomes_pb2.DeliveryStatus.Name(response.status)


def stream(open_stream) -> str:
    """Reads two events from the beginning, and the second one again after the position of the first."""

    def changes(after):
        for message in open_stream(events_pb2.StreamEventsRequest(after=after)):
            yield from message.events

    all_of_them = changes("begin")
    first, second = next(all_of_them), next(all_of_them)
    again = next(changes(first.position))
    return "resumed" if again.event.event_id == second.event.event_id else "differs"


def with_grpcio() -> dict:
    metadata = [("authorization", AUTHORIZATION)]

    def code(emails, request, timeout=40.0):
        try:
            return status(emails.Send(request, metadata=metadata, timeout=timeout))
        except grpc.RpcError as error:
            return error.code().name.lower()

    host = urlsplit(URL).netloc
    channel = grpc.insecure_channel(host)
    emails = emails_pb2_grpc.EmailServiceStub(channel)
    packing = emails_pb2_grpc.EmailServiceStub(grpc.insecure_channel(host, compression=grpc.Compression.Gzip))
    patient = emails_pb2_grpc.EmailServiceStub(grpc.insecure_channel(host, KEEPALIVE))
    events = events_pb2_grpc.EventServiceStub(channel)
    domains = domains_pb2_grpc.DomainServiceStub(channel).ListDomains(domains_pb2.ListDomainsRequest(), metadata=metadata)
    return {
        "defaults": code(emails, message("delivered")),
        "large": code(emails, LARGE),
        "compressed": code(packing, LARGE),
        "domains": len(domains.domains),
        "fault": code(packing, FAULTY),
        "deadline": code(emails, message("connection_timeout"), 0.5),
        "keepalive": code(patient, message("connection_timeout")),
        "stream": stream(lambda request: events.StreamEvents(request, metadata=metadata)),
    }


def with_connectrpc() -> dict:
    headers = {"authorization": AUTHORIZATION}

    def code(emails, request, timeout_ms=40_000):
        try:
            return status(emails.send(request, headers=headers, timeout_ms=timeout_ms))
        except ConnectError as error:
            return error.code.value

    emails = emails_connect.EmailServiceClientSync(URL)
    plain = emails_connect.EmailServiceClientSync(URL, send_compression=None, accept_compression=[])
    events = events_connect.EventServiceClientSync(URL)
    domains = domains_connect.DomainServiceClientSync(URL).list_domains(domains_pb2.ListDomainsRequest(), headers=headers)
    return {
        "defaults": code(emails, message("delivered")),
        "large": code(plain, LARGE),
        "compressed": code(emails, LARGE),
        "domains": len(domains.domains),
        "fault": code(emails, FAULTY),
        "deadline": code(emails, message("connection_timeout"), 500),
        "keepalive": code(emails, message("connection_timeout")),
        "stream": stream(lambda request: events.stream_events(request, headers=headers)),
    }


print(json.dumps({"grpcio": with_grpcio(), "connectrpc": with_connectrpc()}))
