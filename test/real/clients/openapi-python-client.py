"""Sends one email, a batch and an import with a client made by openapi-python-client, reads them back, and prints the results."""

import json
import os

from verdict_client import AuthenticatedClient
from verdict_client.api.emails import get_email, send_email, send_email_batch
from verdict_client.api.events import list_events
from verdict_client.api.suppressions import import_suppressions
from verdict_client.models import BatchItem, SendBatchRequest, SendRequest, SuppressionServiceImportRequest

client = AuthenticatedClient(base_url=os.environ["VERDICT_URL"], token=os.environ["VERDICT_API_KEY"])
sender = os.environ["FROM"]
one = SendRequest(to="delivered@simulator.test", from_=sender, subject="Hello", text="It works.")
sent = send_email.sync(client=client, body=one)

several = ["mailbox_full@simulator.test", "delivered@simulator.test"]
item = BatchItem(to=several, from_=sender, subject="Hello", text="It works.")
batch = send_email_batch.sync(client=client, body=SendBatchRequest(emails=[item]))

email = get_email.sync(sent.message_id, client=client)
events = list_events.sync(client=client, message_id=sent.message_id)
addresses = SuppressionServiceImportRequest(emails=["openapi-python-client@example.com"])
imported = import_suppressions.sync(client=client, body=addresses)
fault = get_email.sync("msg_unknown", client=client)

print(
    json.dumps(
        {
            "sent": sent.status,
            "code": sent.smtp.code,
            "batch": batch.results[0].reason,
            "subject": email.subject,
            "events": len(events.events),
            "imported": imported.imported,
            "error": fault.error,
        }
    )
)
