# Reads what the targets ask for, with Python's own libraries: one question and one answer a line, each as JSON.

import base64
import csv
import email
import email.policy
import io
import json
import sys
from email.header import decode_header, make_header
from email.utils import collapse_rfc2231_value, getaddresses, parsedate_to_datetime

csv.field_size_limit(2**31 - 1)


def csv_records(question):
    """The records of a text, and the number of the last line of each. Between tabs a quote is a letter."""
    separator = question["separator"]
    quoting = csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL
    reader = csv.reader(io.StringIO(question["text"], newline=""), delimiter=separator, quoting=quoting, strict=True)
    return [{"cells": cells, "lastLine": reader.line_num} for cells in reader]


def csv_text(question):
    """The text of a table."""
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if question["quotesAll"] else csv.QUOTE_MINIMAL
    options = {"delimiter": question["separator"], "lineterminator": question["lineEnd"], "quoting": quoting}
    csv.writer(text, **options).writerows(question["table"])
    return text.getvalue()


ADDRESSES = ("from", "to", "cc", "reply-to")


def message(octets):
    """The message in these octets, in base64."""
    source = email.message_from_bytes(base64.b64decode(octets), policy=email.policy.compat32)
    headers, decoded = {}, {}
    for name, value in source.raw_items():
        unfolded = value.replace("\r", "").replace("\n", "").encode("utf-8", "surrogateescape").decode("utf-8")
        headers.setdefault(name.lower(), []).append(unfolded)
        if name.lower() not in ADDRESSES:
            decoded.setdefault(name.lower(), []).append(words(unfolded))
    mailboxes = {
        name: [[words(shown), address] for shown, address in getaddresses(headers[name])]
        for name in ADDRESSES
        if name in headers
    }
    return {
        "headers": headers,
        "decoded": decoded,
        "mailboxes": mailboxes,
        "dateMs": round(parsedate_to_datetime(headers["date"][0]).timestamp() * 1000),
        "parts": [leaf(part) for part in source.walk() if not part.is_multipart()],
    }


def words(text):
    return str(make_header(decode_header(text)))


def leaf(part):
    return {
        "type": part.get_content_type(),
        "parameters": parameters(part, "content-type"),
        "disposition": part.get_content_disposition() or "",
        "dispositionParameters": parameters(part, "content-disposition"),
        "contentId": part["content-id"] or "",
        "content": base64.b64encode(part.get_payload(decode=True)).decode("ascii"),
    }


def parameters(part, header):
    """Without the value itself, which is the first."""
    given = part.get_params([], header)[1:]
    # A text has lost its quotes already, and the function would remove a second pair.
    return {name.lower(): value if isinstance(value, str) else collapse_rfc2231_value(value) for name, value in given}


def address(text):
    """The one mailbox of a text, as the header To has it."""
    header = email.policy.default.header_factory("To", text)
    if header.defects or len(header.groups) != 1 or len(header.addresses) != 1 or header.groups[0].display_name:
        raise ValueError(f"{header.groups} {header.defects}")
    mailbox = header.addresses[0]
    return [mailbox.display_name, mailbox.username, mailbox.domain]


TASKS = {"address": address, "csv_records": csv_records, "csv_text": csv_text, "message": message}

for line in sys.stdin.buffer:
    question = json.loads(line)
    try:
        answer = {"value": TASKS[question["task"]](question["input"])}
    except Exception as error:
        answer = {"refused": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
