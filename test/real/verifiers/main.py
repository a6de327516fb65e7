import json
import sys

sys.path.insert(0, "docs/verify")
from verify import check  # noqa: E402

with open("docs/verify/vectors.json", encoding="utf-8") as file:
    vectors = json.load(file)
answers = [
    check(request.get("body", vectors["body"]).encode(), request["headers"], vectors["secret"], vectors["now"])
    for request in vectors["requests"]
]
print(json.dumps(answers))
