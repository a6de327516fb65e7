import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerAddress, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import { createKeyedAmounts } from '../../net/keyed-amounts.ts'
import { widerNetworkOf } from '../../net/network.ts'
import { noteLeave, smtpConnectionOf } from '../../net/smtp-commands.ts'
import { keepDoor } from '../../net/smtp-sockets.ts'
import type { Addressee } from './addressee.ts'
import { Condenser } from './condense.ts'
import { ClientLeft, type InboundMail } from './receive.ts'
import { type VisitorLimits, Visitors } from './visitors.ts'

export interface ListenerParts {
  host: string
  /** 0 chooses a free port. */
  port: number
  /** The name in the greeting. */
  name: string
  /** In PEM. When absent, STARTTLS is not offered. */
  tls?: { cert: string; key: string }
  addresseeOf(address: string): Addressee | undefined
  /** Rejects when the mail could not be processed: its sender is then told to try again. */
  receive(mail: InboundMail): Promise<void>
  failed(error: unknown): void
  limits?: Partial<ListenerLimits>
}

export interface ListenerLimits extends VisitorLimits {
  idleMs: number
  messageBytes: number
  /** The most bytes that all mails hold while they are being received. One network (/24, /48) may hold half of it. */
  bytesHeld: number
}

const LIMITS: ListenerLimits = {
  connections: 200,
  connectionsPerNetwork: 10,
  idleMs: 60_000,
  totalMs: 300_000,
  messageBytes: 10 * 1024 * 1024,
  bytesHeld: 32 * 1024 * 1024,
}
/** A mail this many times too large is cut off. A smaller one is read and refused at its end, as SMTP requires. */
const FAR_TOO_LARGE = 4
/** RFC 5321 4.5.3.1.4 asks for 512; extensions need more. */
const MAX_COMMAND_BYTES = 2_048
const CLOSE_WITHIN_MS = 2_000

export interface BounceListener {
  port: number
  close(): Promise<void>
  /** Later STARTTLS handshakes present this certificate. Needs `tls`. */
  showCertificate(pair: { cert: string; key: string }): void
}

/**
 * The mail server for bounces: it accepts mail to our own return paths and to the address for complaints, and relays
 * nothing. It replies 250 once the report in the mail is stored. Rejects when the port is not available.
 */
export async function listenForBounces(parts: ListenerParts): Promise<BounceListener> {
  const server = new BounceServer(parts, { ...LIMITS, ...parts.limits })
  server.listen(parts.port, parts.host)
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    close: () => new Promise((closed) => server.close(closed)),
    showCertificate: (pair) => server.updateSecureContext(pair),
  }
}

type Reply = (error: Error | null) => void

class BounceServer extends SMTPServer {
  readonly #addresseeOf: ListenerParts['addresseeOf']
  readonly #limits: ListenerLimits
  readonly #visitors: Visitors
  readonly #addressees = new WeakMap<SMTPServerSession, Addressee>()
  readonly #readData: ReturnType<typeof dataReader>

  constructor(parts: ListenerParts, limits: ListenerLimits) {
    super({
      name: parts.name,
      heloResponse: '%s',
      logger: false,
      disableReverseLookup: true,
      disabledCommands: parts.tls ? ['AUTH'] : ['AUTH', 'STARTTLS'],
      ...parts.tls,
      minVersion: 'TLSv1.2',
      size: limits.messageBytes,
      rejectOversized: true,
      maxRecipients: 1,
      maxCommandLength: MAX_COMMAND_BYTES,
      socketTimeout: limits.idleMs,
      closeTimeout: CLOSE_WITHIN_MS,
    })
    this.#addresseeOf = parts.addresseeOf
    this.#limits = limits
    this.#visitors = new Visitors(limits)
    this.#readData = dataReader(parts, limits)
    keepDoor(this, {
      connections: limits.connections,
      enter: (guest, sendAway) =>
        this.#visitors.enter(guest, () => sendAway('4.4.2 This takes too long'))
          ? '4.7.0 Too many connections from you'
          : undefined,
      leave: (guest) => this.#visitors.leave(guest),
    })
    // Clients that hang up in the middle are no fault: nothing is lost by it.
    this.on('error', () => {})
  }

  override onMailFrom(_sender: SMTPServerAddress, session: SMTPServerSession, reply: Reply): void {
    this.#addressees.delete(session)
    this.#visitors.note(session)
    reply(this.#visitors.mayBeginMail(session) ? null : refusal(421, '4.7.0 Enough for one connection'))
  }

  override onRcptTo({ address }: SMTPServerAddress, session: SMTPServerSession, reply: Reply): void {
    const addressee = this.#addresseeOf(address)
    this.#visitors.note(session)
    if (addressee) {
      this.#addressees.set(session, addressee)
      reply(null)
    } else if (!this.#visitors.hasTooManyStrangers(session)) reply(refusal(550, '5.7.1 No relay'))
    else reply(refusal(421, '4.7.0 Too many unknown recipients'))
  }

  override onData(content: SMTPServerDataStream, session: SMTPServerSession, reply: ReplyToMail): void {
    const { mailFrom } = session.envelope
    const hasNullSender = !mailFrom || mailFrom.address === ''
    this.#visitors.note(session)
    const leave = new AbortController()
    const connection = smtpConnectionOf(this, session)
    const stopNoting = connection && noteLeave(connection, () => leave.abort())
    const { remoteAddress } = session
    const mail = { ...this.#addressees.get(session), hasNullSender, remoteAddress, left: leave.signal }
    this.#readData(content, mail, (error, message) => {
      stopNoting?.()
      this.#visitors.await(session, false)
      reply(error, message)
    })
    content.on('end', () => this.#visitors.await(session, true))
    content.on('data', (piece: Buffer) => {
      this.#visitors.noteContent(session, piece.length)
      if ((content.byteLength ?? 0) > FAR_TOO_LARGE * this.#limits.messageBytes) this.#visitors.sendAway(session)
    })
  }
}

type ReplyToMail = (error: Error | null, message?: string) => void

/** Reads what matters of a mail and hands it on. All mails that are being read share one limit on memory. */
function dataReader({ receive, failed }: ListenerParts, { bytesHeld }: ListenerLimits) {
  let heldBytes = 0
  const heldOf = createKeyedAmounts()
  return (stream: SMTPServerDataStream, mail: Omit<InboundMail, 'content'>, reply: ReplyToMail) => {
    let condenser: Condenser | undefined = new Condenser()
    let bytes = 0
    let isBusy = false
    const network = widerNetworkOf(mail.remoteAddress)
    const hold = (held: number) => {
      heldBytes += held - bytes
      heldOf.add(network, held - bytes)
      bytes = held
    }
    const release = () => {
      hold(0)
      condenser = undefined
    }
    stream.on('data', (chunk: Buffer) => {
      if (isBusy || stream.sizeExceeded) return release()
      isBusy = heldBytes + chunk.length > bytesHeld || heldOf.of(network) + chunk.length > bytesHeld / 2
      if (isBusy || !condenser) return release()
      condenser.push(chunk)
      hold(condenser.bytes())
    })
    stream.on('error', release)
    const end = async () => {
      try {
        if (isBusy) throw new Error('too much mail at a time')
        if (!stream.sizeExceeded) {
          if (!condenser) throw new Error('the mail broke off')
          await receive({ ...mail, content: condenser.end() })
        }
        reply(null, '2.0.0 Thank you')
      } catch (error) {
        if (!(error instanceof ClientLeft)) failed(error)
        reply(refusal(451, '4.3.0 Not now, come again'))
      } finally {
        release()
      }
    }
    stream.on('end', () => void end())
  }
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode })
}
