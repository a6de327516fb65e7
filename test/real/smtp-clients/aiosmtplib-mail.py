import asyncio
import os
from email.message import EmailMessage

import aiosmtplib

from twice import twice

message = EmailMessage()
message["From"] = os.environ["FROM"]
message["To"] = os.environ["TO"].replace(",", ", ")
message["Subject"] = os.environ["SUBJECT"]
message.set_content("Shipped.")
login = {"username": "any", "password": os.environ["VERDICT_API_KEY"]}
twice(lambda: asyncio.run(aiosmtplib.send(message, hostname="localhost", port=int(os.environ["PORT"]), **login)))
