import { SMTPServer } from 'smtp-server'
import { behaviourOf, type SimulatedReply } from './behaviours.ts'
import type { Inbox } from './inbox.ts'
import { DOMAIN } from './names.ts'
import { type MailBack, reportAbout } from './reports.ts'

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
const CLOSE_WITHIN_MS = 100

interface MailServerParts {
  /** Keeps the messages that the server accepts. */
  inbox?: Inbox
  /** Receives reports about messages that the server accepted. */
  comesBack?(mail: MailBack): void
}

/** Replies by the local part of the recipient. */
export function mailServer({ inbox, comesBack }: MailServerParts): SMTPServer {
  const server = new SMTPServer({
    name: `mx.${DOMAIN}`,
    banner: 'Verdict simulator',
    size: MAX_MESSAGE_BYTES,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: CLOSE_WITHIN_MS,
    onRcptTo({ address }, _session, reply) {
      const { local, domain } = split(address)
      if (domain !== DOMAIN) return reply(errorOf({ code: 550, text: '5.7.1 Relaying denied' }))
      const { rcpt } = behaviourOf(local)
      if (rcpt === 'silence') return
      reply(rcpt && errorOf(rcpt))
    },
    onData(content, { envelope }, reply) {
      const recipients = envelope.rcptTo.map(({ address }) => address)
      const dot = recipients.map((address) => behaviourOf(split(address).local).dot).find(Boolean)
      if (inbox && !dot && envelope.mailFrom) {
        const arrival = inbox.begin({ returnPath: envelope.mailFrom.address, recipients })
        if (arrival) content.on('data', arrival.add).on('end', arrival.keep).on('close', arrival.drop)
      }
      content.on('end', () => {
        if (dot) return reply(errorOf(dot))
        reply(null, '2.0.0 Delivered')
        if (!envelope.mailFrom) return
        for (const recipient of recipients) {
          const { report } = behaviourOf(split(recipient).local)
          if (report) comesBack?.(reportAbout({ report, recipient, returnPath: envelope.mailFrom.address }))
        }
      })
      content.resume()
    },
  })
  // Clients that hang up in the middle are no fault: nothing is lost by it.
  server.on('error', () => {})
  return server
}

function split(address: string): { local: string; domain: string } {
  const at = address.lastIndexOf('@')
  return { local: address.slice(0, at), domain: address.slice(at + 1).toLowerCase() }
}

function errorOf({ code, text }: SimulatedReply): Error {
  return Object.assign(new Error(text), { responseCode: code })
}
