# Reads what the targets ask for, with Python's own libraries: one question and one answer a line, each as JSON.

import csv
import io
import json
import sys

csv.field_size_limit(2**31 - 1)


def csv_records(question):
    """The records of a text, and the number of the last line of each."""
    reader = csv.reader(io.StringIO(question["text"], newline=""), delimiter=question["separator"], strict=True)
    return [{"cells": cells, "lastLine": reader.line_num} for cells in reader]


def csv_text(question):
    """The text of a table."""
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if question["quotesAll"] else csv.QUOTE_MINIMAL
    options = {"delimiter": question["separator"], "lineterminator": question["lineEnd"], "quoting": quoting}
    csv.writer(text, **options).writerows(question["table"])
    return text.getvalue()


TASKS = {"csv_records": csv_records, "csv_text": csv_text}

for line in sys.stdin.buffer:
    question = json.loads(line)
    try:
        answer = {"value": TASKS[question["task"]](question["input"])}
    except Exception as error:
        answer = {"refused": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
