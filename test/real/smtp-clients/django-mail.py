import os

from django.conf import settings
from django.core.mail import EmailMessage

from twice import twice

settings.configure(
    EMAIL_HOST="localhost",
    EMAIL_PORT=int(os.environ["PORT"]),
    EMAIL_USE_TLS=True,
    EMAIL_HOST_USER="any",
    EMAIL_HOST_PASSWORD=os.environ["VERDICT_API_KEY"],
)
message = EmailMessage(os.environ["SUBJECT"], "Shipped.", os.environ["FROM"], os.environ["TO"].split(","))
twice(message.send)
