"""Sends one email, a batch and an import with a client made by openapi-generator, reads them back, and prints the results."""

import json
import os

from openapi_client import (
    ApiClient,
    ApiException,
    BatchItem,
    BatchItemTo,
    Configuration,
    EmailsApi,
    Error,
    EventsApi,
    SendBatchRequest,
    SendRequest,
    SendRequestTo,
    SuppressionServiceImportRequest,
    SuppressionsApi,
)

configuration = Configuration(host=os.environ["VERDICT_URL"], access_token=os.environ["VERDICT_API_KEY"])
sender = os.environ["FROM"]
with ApiClient(configuration) as client:
    emails = EmailsApi(client)
    one = SendRequestTo("delivered@simulator.test")
    sent = emails.send_email(SendRequest(to=one, var_from=sender, subject="Hello", text="It works."))

    several = BatchItemTo(["mailbox_full@simulator.test", "delivered@simulator.test"])
    item = BatchItem(to=several, var_from=sender, subject="Hello", text="It works.")
    batch = emails.send_email_batch(SendBatchRequest(emails=[item]))

    email = emails.get_email(sent.message_id)
    events = EventsApi(client).list_events(message_id=sent.message_id)
    imported = SuppressionsApi(client).import_suppressions(SuppressionServiceImportRequest(emails=["python@example.com"]))
    try:
        emails.get_email("msg_unknown")
        raise AssertionError("There is no such email.")
    except ApiException as exception:
        fault = Error.from_json(exception.body)

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
