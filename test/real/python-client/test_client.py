"""The Python client against a service that follows a script: what is retried, with which key, and what is refused."""

import asyncio
import inspect
import json
import os
import pickle
import threading
import unittest
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock

import trio
from verdict_client import AsyncVerdict, Verdict, VerdictError, WebhookError, verify_webhook

MESSAGE: Any = {"from": "a@example.test", "to": "b@example.test", "subject": "Hi", "text": "Hi"}
DELIVERED = (200, {"status": "delivered", "message_id": "msg_1"}, {})
PAUSES = {"sync": "verdict_client._sync.call.time.sleep", "async": "verdict_client._async.call.anyio.sleep"}


def error(status: int, code: str, **fields: Any) -> tuple[int, Any, dict[str, str]]:
    return (status, {"error": code, "message": f"it is {code}", "request_id": "req_1", **fields}, {})


class Service:
    """Sends the responses of its script in turn, and keeps the requests. `None` closes the connection."""

    def __init__(self) -> None:
        self.script: list[Any] = []
        self.requests: list[Any] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                service.requests.append({"path": self.path, "headers": headers, "body": body and json.loads(body)})
                response = service.script.pop(0)
                if response is None:
                    self.close_connection = True
                    return
                if isinstance(response, threading.Event):
                    response.wait(10)
                    self.close_connection = True
                    return
                status, content, extra = response
                octets = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"content-length": str(len(octets)), **extra}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(octets)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


class Cases:
    """Every test runs with both clients: `call` runs one call of a client and returns its result."""

    kind: str

    def call(self, action: Callable[[Any], Any], **options: Any) -> Any:
        raise NotImplementedError

    def setUp(self) -> None:
        self.service = Service()
        self.pauses: list[float] = []
        pause = mock.AsyncMock() if self.kind == "async" else mock.Mock()
        pause.side_effect = self.pauses.append
        patch = mock.patch(PAUSES[self.kind], pause)
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(self.service.server.server_close)
        self.addCleanup(self.service.server.shutdown)

    def fault(self, action: Callable[[Any], Any], **options: Any) -> VerdictError:
        with self.assertRaises(VerdictError) as raised:
            self.call(action, **options)
        return raised.exception

    def keys(self) -> set[str]:
        return {request["headers"]["idempotency-key"] for request in self.service.requests}

    def test_an_error_comes_whole_from_a_process_of_a_pool(self) -> None:
        self.service.script = [error(400, "invalid_payload", fields=[{"field": "to", "message": "is empty"}])]
        fault = self.fault(lambda client: client.emails.send(MESSAGE))
        copy = pickle.loads(pickle.dumps(fault))
        self.assertEqual((type(copy), str(copy), vars(copy)), (VerdictError, str(fault), vars(fault)))

    def test_addresses_may_come_from_a_generator(self) -> None:
        self.service.script = [(200, {"imported": 2}, {})]
        entries: Any = {"emails": (f"{name}@example.test" for name in ("ann", "bob"))}
        self.call(lambda client: client.suppression.import_addresses(entries))
        self.assertEqual(self.service.requests[0]["body"], {"emails": ["ann@example.test", "bob@example.test"]})

    def test_all_attempts_of_a_send_carry_one_key(self) -> None:
        self.service.script = [error(500, "transient_failure"), None, DELIVERED]
        outcome = self.call(lambda client: client.emails.send(MESSAGE))
        self.assertEqual(outcome, {"status": "delivered", "message_id": "msg_1"})
        self.assertEqual(len(self.service.requests), 3)
        self.assertEqual(len(self.keys()), 1)
        self.assertTrue(0.5 <= self.pauses[0] <= 1 <= self.pauses[1] <= 2, self.pauses)

    def test_two_sends_have_two_keys(self) -> None:
        self.service.script = [DELIVERED, DELIVERED]
        for _ in range(2):
            self.call(lambda client: client.emails.send(MESSAGE))
        self.assertEqual(len(self.keys()), 2)

    def test_a_lost_response_has_the_key_that_a_repeat_needs(self) -> None:
        self.service.script = [None, None, None]
        fault = self.fault(lambda client: client.emails.send(MESSAGE, idempotency_key="order-7"))
        self.assertEqual((fault.code, fault.status, fault.idempotency_key), ("connection_failed", None, "order-7"))
        self.assertTrue(fault.message.startswith(f"no response from {self.service.url}: "), fault.message)
        self.assertEqual(self.keys(), {"order-7"})

    def test_a_service_that_does_not_answer_in_time(self) -> None:
        silence = threading.Event()
        self.addCleanup(silence.set)
        self.service.script = [silence]
        fault = self.fault(lambda client: client.emails.send(MESSAGE, timeout=0.2), max_retries=0)
        self.assertEqual((fault.code, fault.message), ("timed_out", "no response within 0.2 s"))
        self.assertIsNotNone(fault.idempotency_key)

    def test_retry_after_is_waited_for_up_to_a_minute(self) -> None:
        self.service.script = [error(429, "rate_limit_exceeded", retry_after=7), DELIVERED]
        self.call(lambda client: client.emails.send(MESSAGE))
        self.assertEqual(self.pauses, [7])
        self.service.script = [error(429, "rate_limit_exceeded", retry_after=61)]
        fault = self.fault(lambda client: client.emails.send(MESSAGE))
        self.assertEqual((fault.code, fault.retry_after), ("rate_limit_exceeded", 61))

    def test_refusals_are_raised_at_once(self) -> None:
        details = [{"field": "to", "message": "no address"}]
        self.service.script = [error(400, "invalid_address", details=details)]
        fault = self.fault(lambda client: client.emails.send(MESSAGE))
        self.assertEqual((fault.code, fault.status, fault.request_id), ("invalid_address", 400, "req_1"))
        self.assertEqual((fault.details, str(fault)), (details, "it is invalid_address"))
        self.assertEqual(len(self.service.requests), 1)

    def test_a_call_that_may_not_run_twice_is_repeated_only_when_the_service_did_nothing(self) -> None:
        self.service.script = [None]
        self.fault(lambda client: client.domains.verify("dom_1"))
        self.service.script = [error(500, "transient_failure"), (200, {"domain_id": "dom_1"}, {})]
        self.call(lambda client: client.domains.verify("dom_1"))
        self.assertEqual(len(self.service.requests), 3)

    def test_a_call_that_shows_a_secret_is_never_repeated(self) -> None:
        for action in (
            lambda client: client.webhook.set({"url": "https://a.example"}),
            lambda client: client.webhook.rotate_secret(),
            lambda client: client.webhooks.create({"url": "https://a.example"}),
            lambda client: client.webhooks.rotate_secret("whk_1"),
        ):
            self.service.script = [error(500, "transient_failure")]
            self.fault(action)
        self.assertEqual(len(self.service.requests), 4)

    def test_pages_of_a_proxy(self) -> None:
        lost = (502, b"<h1>Bad Gateway</h1>", {"x-request-id": "req_9"})
        self.service.script = [lost, DELIVERED]
        self.call(lambda client: client.emails.send(MESSAGE))
        self.service.script = [(403, b"<h1>Forbidden</h1>", {"x-request-id": "req_9"})]
        fault = self.fault(lambda client: client.emails.send(MESSAGE))
        self.assertEqual((fault.code, fault.status, fault.request_id), ("unexpected_response", 403, "req_9"))
        for content in (b"", b"[]", b"null", b'"text"'):
            self.service.script = [(200, content, {})]
            self.assertEqual(self.fault(lambda client: client.limits()).code, "unexpected_response")
        self.service.script = [(200, b"not gzip", {"content-encoding": "gzip"})]
        self.assertEqual(self.fault(lambda client: client.limits(), max_retries=0).code, "connection_failed")

    def test_a_redirect_is_not_followed(self) -> None:
        self.service.script = [(302, b"", {"location": f"{self.service.url}/elsewhere"})]
        self.assertEqual(self.fault(lambda client: client.limits()).status, 302)
        self.assertEqual(len(self.service.requests), 1)

    def test_what_the_headers_say_about_the_key(self) -> None:
        headers = {"idempotent-replayed": "true", "idempotency-mismatch": "body"}
        self.service.script = [(*DELIVERED[:2], headers)]
        outcome = self.call(lambda client: client.emails.send(MESSAGE, idempotency_key="k"))
        self.assertTrue(outcome["replayed"] and outcome["mismatch"])

    def test_the_request_of_a_send(self) -> None:
        self.service.script = [DELIVERED]
        message = {**MESSAGE, "attachments": [{"filename": "a", "content": b"\x00\xff"}], "raw": bytearray(b"From: a")}
        self.call(lambda client: client.emails.send(message, sandbox=True, retry_of="msg_0"))
        [request] = self.service.requests
        self.assertEqual(request["path"], "/api/v1/emails/send")
        self.assertEqual(request["body"]["attachments"][0]["content"], "AP8=")
        self.assertEqual((request["body"]["raw"], request["body"]["retry_of"]), ("RnJvbTogYQ==", "msg_0"))
        self.assertEqual(request["headers"]["x-service-sandbox"], "true")
        self.assertEqual(request["headers"]["authorization"], "Bearer svc_live_1")
        with self.assertRaisesRegex(TypeError, "a message cannot contain a value of type object"):
            self.call(lambda client: client.emails.send({**MESSAGE, "text": object()}))

    def test_a_batch_is_a_list(self) -> None:
        with self.assertRaisesRegex(TypeError, "messages: must be a list"):
            self.call(lambda client: client.emails.batch(MESSAGE))
        self.service.script = [(200, {"results": [], "summary": {}}, {})]
        self.call(lambda client: client.emails.batch([MESSAGE]))
        self.assertEqual(self.service.requests[0]["body"], {"emails": [MESSAGE]})

    def test_filters(self) -> None:
        self.service.script = [(200, {"emails": []}, {})] * 2
        east = timezone(timedelta(hours=2))
        query = {"from": datetime(2026, 11, 26, 12, tzinfo=east), "to": date(2026, 11, 27), "sandbox": False}
        self.call(lambda client: client.emails.list({**query, "recipient": "a+b@example.test", "tag": None}))
        expected = "from=2026-11-26T12%3A00%3A00%2B02%3A00&to=2026-11-27&sandbox=false&recipient=a%2Bb%40example.test"
        self.assertEqual(self.service.requests[0]["path"], f"/api/v1/emails?{expected}")
        self.call(lambda client: client.emails.list({"subject": "order 7", "metadata": {"a.b": "c&d"}}))
        self.assertEqual(self.service.requests[1]["path"], "/api/v1/emails?subject=order+7&metadata.a.b=c%26d")
        with self.assertRaisesRegex(ValueError, "^from: the time needs a time zone"):
            self.call(lambda client: client.emails.list({"from": datetime(2026, 11, 26)}))

    def test_values_of_a_path_are_quoted(self) -> None:
        self.service.script = [(200, {}, {})] * 2
        self.call(lambda client: client.emails.get("../keys?a"))
        self.call(lambda client: client.suppression.remove("a/b@example.test", {"tenant_id": "t"}))
        paths = [request["path"] for request in self.service.requests]
        self.assertEqual(
            paths, ["/api/v1/emails/..%2Fkeys%3Fa", "/api/v1/suppression/a%2Fb%40example.test?tenant_id=t"]
        )

    def test_all_reads_page_after_page(self) -> None:
        self.service.script = [
            (200, {"events": [{"event_id": "evt_1"}, {"event_id": "evt_2"}], "next_cursor": "c 1"}, {}),
            None,
            (200, {"events": [{"event_id": "evt_3"}]}, {}),
        ]
        events = self.call(lambda client: client.events.all({"limit": 2}))
        self.assertEqual([event["event_id"] for event in events], ["evt_1", "evt_2", "evt_3"])
        self.assertEqual(self.service.requests[2]["path"], "/api/v1/events?limit=2&cursor=c+1")

    def test_a_stream_goes_on_at_its_position_after_failures(self) -> None:
        def page(ids: list[str], position: str) -> tuple[int, Any, dict[str, str]]:
            events = [{"event": {"event_id": id}, "position": id} for id in ids]
            return (200, {"events": events, "position": position}, {})

        self.service.script = [
            page([], "p0"),
            error(503, "transient_failure", retry_after=3),
            None,
            page(["e1", "e2"], "e2"),
            page([], "p3"),
            error(410, "event_expired"),
        ]
        seen: list[str] = []

        def collect(change: Any) -> None:
            seen.append(change["position"])

        fault = self.fault(lambda client: self.drained(client.events.stream({"tag": "a"}), collect))
        self.assertEqual((fault.code, seen), ("event_expired", ["e1", "e2"]))
        self.assertEqual(self.pauses[0], 3)
        asked = [request["path"].partition("&tag=a")[2] for request in self.service.requests]
        after = [f"&after={position}&wait_s=20" for position in ("p0", "p0", "p0", "e2", "p3")]
        self.assertEqual(asked, ["", *after])

    def test_keys_that_no_header_can_carry(self) -> None:
        for key in ("", "a\n", " a", "a ", "ä", "a" * 257):
            with self.assertRaisesRegex(ValueError, "^idempotency_key: must have 1 to 256 printable"):
                self.call(lambda client: client.emails.send(MESSAGE, idempotency_key=key))
        for key in ("", "svc_live_secret\n", "svc_live_ secret", "svc_live_sécret"):
            with self.assertRaisesRegex(ValueError, "^api_key: required, svc_live_") as raised:
                self.call(lambda client: client.limits(), api_key=key)
            self.assertNotIn("cret", str(raised.exception))
        for url in ("", "verdict.example.com", "ftp://verdict.example.com", "https://"):
            with self.assertRaisesRegex(ValueError, "^url: required, such as https://"):
                self.call(lambda client: client.limits(), url=url)
        self.assertEqual(self.service.requests, [])

    def test_a_service_below_a_path(self) -> None:
        self.service.script = [(200, {}, {})]
        self.call(lambda client: client.limits(), url=f"{self.service.url}/mail/")
        self.assertEqual(self.service.requests[0]["path"], "/mail/api/v1/limits")


class Synchronous(Cases, unittest.TestCase):
    kind = "sync"

    def call(self, action: Callable[[Any], Any], **options: Any) -> Any:
        with Verdict(**{"url": self.service.url, "api_key": "svc_live_1", **options}) as client:
            result = action(client)
            return list(result) if inspect.isgenerator(result) else result

    def drained(self, stream: Any, take: Callable[[Any], None]) -> None:
        for item in stream:
            take(item)


class Asynchronous(Cases, unittest.TestCase):
    kind = "async"

    def call(self, action: Callable[[Any], Any], **options: Any) -> Any:
        return asyncio.run(self.awaited(action, options))

    async def awaited(self, action: Callable[[Any], Any], options: Any) -> Any:
        async with AsyncVerdict(**{"url": self.service.url, "api_key": "svc_live_1", **options}) as client:
            result = action(client)
            return [item async for item in result] if inspect.isasyncgen(result) else await result

    async def drained(self, stream: Any, take: Callable[[Any], None]) -> None:
        async for item in stream:
            take(item)


class OnTrio(Asynchronous):
    def call(self, action: Callable[[Any], Any], **options: Any) -> Any:
        return trio.run(self.awaited, action, options)


class Webhooks(unittest.TestCase):
    def test_the_vectors_of_the_guide(self) -> None:
        with open(os.environ["VECTORS"], encoding="utf-8") as file:
            vectors = json.load(file)
        self.assertGreater(len(vectors["requests"]), 5)
        for request in vectors["requests"]:
            body = request.get("body", vectors["body"])
            for raw in (body, body.encode()):
                for headers in (request["headers"], list(request["headers"].items())):
                    with self.subTest(request["name"]):
                        self.assertEqual(self.status(raw, headers, vectors), request["status"])

    def status(self, body: Any, headers: Any, vectors: Any) -> int:
        try:
            verify_webhook(body, headers, vectors["secret"], now=vectors["now"])
        except WebhookError as error:
            return error.status
        return 200


if __name__ == "__main__":
    unittest.main()
