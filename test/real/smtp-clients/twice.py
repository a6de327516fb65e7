import re


def twice(send):
    """Sends, and once more unless the failure is final. Prints what the caller was told."""
    for _ in range(2):
        try:
            send()
            return print("sent")
        except Exception as error:
            text = " ".join(repr(error).split())
            print("failed", text)
            if re.search(r"\b5\d\d\b", text):
                return None
