// The forms of bounces and complaints.

/** The message that a report is about. */
export const RETURNED = `Return-Path: <b+01kctznv0zf3kanvqtfn6xkbd4000123456789abcdef@rp.example.test>
From: Verdict <hello@example.test>
To: ann@example.net
Subject: Hello
Message-ID: <msg_01kctznv0zf3kanvqtfn6xkbd4@rp.example.test>

Hi Ann
`

interface Part {
  type: string
  content: string
  encoding?: string
}

export function multipart(type: string, parts: Part[], header = ''): string {
  const body = parts.map(
    ({ type, content, encoding = '7bit' }) =>
      `--=_part\nContent-Type: ${type}\nContent-Transfer-Encoding: ${encoding}\n\n${content}\n`,
  )
  return crlf(
    `From: MAILER-DAEMON@mx.example.net (Mail Delivery System)\nSubject: Undelivered Mail Returned to Sender\n${header}` +
      `MIME-Version: 1.0\nContent-Type: ${type}; boundary="=_part"\n\nThis is a MIME-encapsulated message.\n\n${body.join('')}--=_part--\n`,
  )
}

export const crlf = (text: string) => text.replace(/\r?\n/g, '\r\n')

/** A delivery status notification with this text for people, and these fields for each recipient. */
export function dsn({ notice = 'It did not work.', fields, original = RETURNED }: Dsn): string {
  return multipart('multipart/report; report-type=delivery-status', [
    { type: 'text/plain; charset=us-ascii', content: notice },
    {
      type: 'message/delivery-status',
      content: `Reporting-MTA: dns; mx.example.net\nArrival-Date: Sat, 21 Nov 2026 10:00:00 +0000\n\n${fields.join('\n\n')}\n`,
    },
    { type: 'message/rfc822', content: original },
  ])
}

const failure = (email: string) =>
  `Final-Recipient: rfc822; ${email}\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 no such user`

/** The notification that these mailboxes do not exist. */
export const bounceOf = (...emails: string[]) => dsn({ fields: emails.map(failure) })

interface Dsn {
  notice?: string
  fields: string[]
  original?: string
}

interface Arf {
  type?: string
  fields?: string
  original?: string
  originalType?: string
}

/** A complaint in the form of RFC 5965. */
export function arf({
  type = 'abuse',
  fields = '',
  original = RETURNED,
  originalType = 'message/rfc822',
}: Arf): string {
  return multipart('multipart/report; report-type=feedback-report', [
    { type: 'text/plain; charset="US-ASCII"', content: 'This is an email abuse report.' },
    {
      type: 'message/feedback-report',
      content: `Feedback-Type: ${type}\nUser-Agent: SomeGenerator/1.0\nVersion: 1\n${fields}`,
    },
    { type: originalType, content: original },
  ])
}
