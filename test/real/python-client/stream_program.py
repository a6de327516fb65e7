"""Reads the stream of events with both clients, resumed at a position and live. Prints what each of them got."""

import asyncio
import json
import os
import threading

from verdict_client import AsyncVerdict, SendRequest, Verdict

CONNECTION = (os.environ["VERDICT_URL"], os.environ["VERDICT_API_KEY"])
DELAY = 0.5
"""The third message is sent when the stream waits for it."""


def message(tag: str) -> SendRequest:
    return {"from": "hello@example.test", "to": "delivered@simulator.test", "subject": "Hi", "text": "Hi", "tag": tag}


def synchronous() -> list[str]:
    tag = "sync"
    with Verdict(*CONNECTION) as verdict:
        start = verdict.events.changes()["position"]
        sent = [verdict.emails.send(message(tag))["message_id"] for _ in range(2)]
        stream = verdict.events.stream({"after": start, "tag": tag})
        first = next(stream)
        assert first["event"]["message_id"] == sent[0]
        resumed = verdict.events.stream({"after": first["position"], "tag": tag})
        assert next(resumed)["event"]["message_id"] == sent[1]
        threading.Timer(DELAY, lambda: sent.append(verdict.emails.send(message(tag))["message_id"])).start()
        live = next(resumed)["event"]
        assert next(stream)["event"]["message_id"] == sent[1]
        assert next(stream)["event"]["message_id"] == sent[2] == live["message_id"]
        return [live["status"], live["tag"]]


async def asynchronous() -> list[str]:
    tag = "async"
    async with AsyncVerdict(*CONNECTION) as verdict:
        start = (await verdict.events.changes())["position"]
        sent = [(await verdict.emails.send(message(tag)))["message_id"] for _ in range(2)]
        stream = verdict.events.stream({"after": start, "tag": tag})
        first = await anext(stream)
        assert first["event"]["message_id"] == sent[0]
        resumed = verdict.events.stream({"after": first["position"], "tag": tag})
        assert (await anext(resumed))["event"]["message_id"] == sent[1]

        async def send_later() -> None:
            await asyncio.sleep(DELAY)
            sent.append((await verdict.emails.send(message(tag)))["message_id"])

        live, _ = await asyncio.gather(anext(resumed), send_later())
        assert live["event"]["message_id"] == sent[2]
        return [live["event"]["status"], live["event"]["tag"]]


print(json.dumps([synchronous(), asyncio.run(asynchronous())]))
