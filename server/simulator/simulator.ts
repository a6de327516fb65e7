import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Address } from '../../mail/address.ts'
import type { MxLookup, Site } from '../../mail/smtp/attempt.ts'
import { type Behaviour, behaviourOf } from './behaviours.ts'
import type { Inbox } from './inbox.ts'
import { mailServer } from './mail-server.ts'
import { DOMAIN, HOST } from './names.ts'
import type { MailBack } from './reports.ts'

export interface SimulatedRecipient {
  /** The outcome of a dry run. */
  outcome: { status: Behaviour['status']; reason?: string }
  route: { kind: 'suppression_list' } | MxLookup
}

export interface Simulator {
  /** Starts the mail server on a free port of the loopback interface; before that `route` leads nowhere. */
  listen(): Promise<{ port: number }>
  /** The meaning of an address at `simulator.test`, and the way of a send to it; undefined for every other address. */
  route(address: Address): SimulatedRecipient | undefined
  close(): Promise<void>
}

/** A send to the silent address ends within 3 s. */
const SILENCE_MS = 2_000

interface SimulatorParts {
  /** Without it nothing is kept of the messages. */
  inbox?: Inbox
  /** Receives late bounces and complaints. */
  comesBack?(mail: MailBack): void
}

/** Addresses whose outcome is their name, through a mail server that really replies so. */
export function createSimulator(parts: SimulatorParts = {}): Simulator {
  const server = mailServer(parts)
  let port = 0
  return {
    async listen() {
      const listening = server.listen(0, '127.0.0.1')
      await once(listening, 'listening')
      port = (listening.address() as AddressInfo).port
      return { port }
    },
    route({ local, domain }) {
      if (domain !== DOMAIN) return undefined
      const { name, status, route, report: _, ...replies } = behaviourOf(local)
      const outcome = status === 'delivered' ? { status } : { status, reason: name }
      return { outcome, route: route ?? { kind: 'site', site: siteFor(replies, port) } }
    },
    close: () => new Promise((closed) => server.close(closed)),
  }
}

/**
 * Connections stay within this process; a silence holds one for 2 s. The last fifth of them is kept for other accounts.
 */
const SITE_LIMITS = { connections: 250, messages: 100 }

/** A refusal at the dot affects its whole transaction, and a silence its connection, so each has its own site. */
function siteFor({ rcpt, dot }: Pick<Behaviour, 'rcpt' | 'dot'>, port: number): Site {
  const hosts = [{ name: HOST, preference: 0, addresses: ['127.0.0.1'], port }]
  if (rcpt === 'silence') return { key: `silence.${DOMAIN}`, hosts, limits: SITE_LIMITS, commandTimeoutMs: SILENCE_MS }
  return { key: dot ? `dot.${DOMAIN}` : DOMAIN, hosts, limits: SITE_LIMITS }
}
