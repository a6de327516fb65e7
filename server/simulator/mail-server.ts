import { SMTPServer } from 'smtp-server'
import { behaviourOf, type Refusal } from './behaviours.ts'
import type { Inbox } from './inbox.ts'

export const DOMAIN = 'simulator.test'

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
const CLOSE_WITHIN_MS = 100

/** Replies by the local part of the recipient. Messages that it accepts go into the inbox, when there is one. */
export function mailServer(inbox: Inbox | undefined): SMTPServer {
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
      content.on('end', () => (dot ? reply(errorOf(dot)) : reply(null, '2.0.0 Delivered')))
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

function errorOf({ code, text }: Refusal): Error {
  return Object.assign(new Error(text), { responseCode: code })
}
