import os
import smtplib
import ssl
from email.message import EmailMessage

from twice import twice

message = EmailMessage()
message["From"] = os.environ["FROM"]
message["To"] = os.environ["TO"].replace(",", ", ")
message["Subject"] = os.environ["SUBJECT"]
message.set_content("Shipped.")


def send():
    with smtplib.SMTP("localhost", int(os.environ["PORT"])) as server:
        server.starttls(context=ssl.create_default_context())
        server.login("any", os.environ["VERDICT_API_KEY"])
        server.send_message(message)


twice(send)
