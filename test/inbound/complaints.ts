import { arf, multipart, RETURNED } from './report-forms.ts'

// Complaints as mailbox providers write them, about a message to ann@example.net.

export const YAHOO_COMPLAINT = arf({
  fields: `Original-Rcpt-To: ann@example.net
Arrival-Date: Sat, 21 Nov 2026 10:00:00 +0000
Reported-Domain: example.test
Source-IP: 192.0.2.25
Original-Mail-From: <b+01kctznv0zf3kanvqtfn6xkbd4000123456789abcdef@rp.example.test>
`,
})

export const COMCAST_COMPLAINT = arf({
  fields: `Original-Mail-From: <b+01kctznv0zf3kanvqtfn6xkbd4000123456789abcdef@rp.example.test>
Original-Rcpt-To: <ann@example.net>
Removal-Recipient: ann@example.net
Received-Date: Sat, 21 Nov 2026 10:00:00 +0000
Abuse-Type: complaint
Source: Comcast
`,
  originalType: 'text/rfc822-headers',
})

/** Microsoft's Junk Mail Reporting Program: only the message, with the recipient in its own field. */
export const MICROSOFT_COMPLAINT = multipart('multipart/mixed', [
  { type: 'message/rfc822', content: `X-HmXmrOriginalRecipient: <ann@example.net>\n${RETURNED}` },
])
