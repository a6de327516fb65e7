import { HOST } from './names.ts'

/** A mail to the return path of a message. */
export interface MailBack {
  to: string
  content: Buffer
}

interface Reported {
  report: 'complaint' | 'late_bounce'
  recipient: string
  returnPath: string
}

const BOUNDARY = 'simulated-report'

/** The parts of the reports, as mail servers (RFC 3464) and mailbox providers (RFC 5965) write them. */
const PARTS: Record<Reported['report'], (reported: Reported) => { type: string; notice: string; fields: string[] }> = {
  late_bounce: ({ recipient }) => ({
    type: 'delivery-status',
    notice: `The message to ${recipient} was accepted, and then could not be delivered.`,
    fields: [
      `Reporting-MTA: dns; ${HOST}`,
      '',
      `Final-Recipient: rfc822; ${recipient}`,
      'Action: failed',
      'Status: 5.1.1',
      'Diagnostic-Code: smtp; 550 5.1.1 No such mailbox here',
    ],
  }),
  complaint: ({ recipient, returnPath }) => ({
    type: 'feedback-report',
    notice: `${recipient} has marked the message as spam.`,
    fields: [
      'Feedback-Type: abuse',
      'User-Agent: Verdict simulator',
      'Version: 1',
      `Original-Mail-From: <${returnPath}>`,
      `Original-Rcpt-To: <${recipient}>`,
    ],
  }),
}

/** The report that comes back about a message which the simulator accepted. */
export function reportAbout(reported: Reported): MailBack {
  const { type, notice, fields } = PARTS[reported.report](reported)
  const mail = `From: MAILER-DAEMON@${HOST}
To: ${reported.returnPath}
Subject: Report about your message
MIME-Version: 1.0
Content-Type: multipart/report; report-type=${type}; boundary="${BOUNDARY}"

--${BOUNDARY}
Content-Type: text/plain; charset=utf-8

${notice}
--${BOUNDARY}
Content-Type: message/${type}

${fields.join('\n')}
--${BOUNDARY}--
`
  return { to: reported.returnPath, content: Buffer.from(mail.replaceAll('\n', '\r\n')) }
}

const FIRST_TRY_MS = 1_000
/** The waits double. The last try is over four minutes after the message, when no send runs any more. */
const TRIES = 8

/** Delivers reports a moment later, and again while they are refused, as their senders do. */
export function createSendBack(deliver: (mail: MailBack) => Promise<void>): (mail: MailBack) => void {
  function schedule(mail: MailBack, attempt: number): void {
    if (attempt === TRIES) return
    const tryOnce = () => void deliver(mail).catch(() => schedule(mail, attempt + 1))
    setTimeout(tryOnce, FIRST_TRY_MS * 2 ** attempt).unref()
  }
  return (mail) => schedule(mail, 0)
}
