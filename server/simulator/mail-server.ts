import { SMTPServer } from 'smtp-server'
import { behaviourOf, type Reply } from './behaviours.ts'

export const DOMAIN = 'simulator.test'

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
const CLOSE_WITHIN_MS = 100

/** Answers by the local part of the recipient, and forgets every message while it is read. */
export function mailServer(): SMTPServer {
  const server = new SMTPServer({
    name: `mx.${DOMAIN}`,
    banner: 'Verdict simulator',
    size: MAX_MESSAGE_BYTES,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: CLOSE_WITHIN_MS,
    onRcptTo({ address }, _session, answer) {
      const { local, domain } = split(address)
      if (domain !== DOMAIN) return answer(refusal({ code: 550, text: '5.7.1 Relaying denied' }))
      const { rcpt } = behaviourOf(local)
      if (rcpt === 'silence') return
      answer(rcpt && refusal(rcpt))
    },
    onData(content, { envelope }, answer) {
      const dot = envelope.rcptTo.map(({ address }) => behaviourOf(split(address).local).dot).find(Boolean)
      content.on('end', () => (dot ? answer(refusal(dot)) : answer(null, '2.0.0 Delivered')))
      content.resume()
    },
  })
  // Clients that hang up in the middle: nothing here is lost by it.
  server.on('error', () => {})
  return server
}

function split(address: string): { local: string; domain: string } {
  const at = address.lastIndexOf('@')
  return { local: address.slice(0, at), domain: address.slice(at + 1).toLowerCase() }
}

function refusal({ code, text }: Reply): Error {
  return Object.assign(new Error(text), { responseCode: code })
}
