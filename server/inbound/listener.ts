import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import type { Addressee } from './addressee.ts'
import { createVisitors } from './visitors.ts'

export interface ListenerParts {
  host: string
  /** 0 takes a free one. */
  port: number
  /** What it calls itself. */
  name: string
  /** PEM. Without it there is no STARTTLS. */
  tls?: { cert: string; key: string }
  addresseeOf(address: string): Addressee | undefined
  /** Rejected when the mail could not be taken: its sender is told to come again. */
  receive(mail: Addressee & { content: Buffer }): Promise<void>
  failed(error: unknown): void
  limits?: Partial<ListenerLimits>
}

export interface ListenerLimits {
  connections: number
  connectionsOfOne: number
  idleMs: number
  /** Of a connection, whatever it does. */
  totalMs: number
  messageBytes: number
  /** Of the messages that are being received, together. */
  bytesHeld: number
}

const LIMITS: ListenerLimits = {
  connections: 200,
  connectionsOfOne: 10,
  idleMs: 60_000,
  totalMs: 300_000,
  messageBytes: 1024 * 1024,
  bytesHeld: 32 * 1024 * 1024,
}
/** A message that is so many times too large is cut off; until then it is read and refused at its end, as SMTP wants it. */
const FAR_TOO_LARGE = 20
/** RFC 5321 4.5.3.1.4 asks for 512, extensions add to it. */
const MAX_COMMAND_BYTES = 2_048
/** Sockets that are told to go away live for a moment; what comes on top of them is dropped without a word. */
const DROPPED_FROM = 2
const CLOSE_WITHIN_MS = 2_000

export interface BounceListener {
  port: number
  close(): Promise<void>
}

/**
 * The mail server for what comes back: it takes mail for our own return paths and for complaints, and relays nothing. A mail is
 * answered with 250 when what it reports is stored. Rejects when the port cannot be had.
 */
export async function listenForBounces(parts: ListenerParts): Promise<BounceListener> {
  const { addresseeOf, tls } = parts
  const limits = { ...LIMITS, ...parts.limits }
  const visitors = createVisitors(limits)
  const addressees = new WeakMap<SMTPServerSession, Addressee>()
  const readData = dataReader(parts, limits)
  const server = new SMTPServer({
    name: parts.name,
    heloResponse: '%s',
    logger: false,
    disableReverseLookup: true,
    disabledCommands: tls ? ['AUTH'] : ['AUTH', 'STARTTLS'],
    ...tls,
    minVersion: 'TLSv1.2',
    size: limits.messageBytes,
    rejectOversized: true,
    maxClients: limits.connections,
    maxRecipients: 1,
    maxCommandLength: MAX_COMMAND_BYTES,
    socketTimeout: limits.idleMs,
    closeTimeout: CLOSE_WITHIN_MS,
    onConnect(session, answer) {
      const connection = [...server.connections].find(({ id }) => id === session.id)
      const refused = connection && visitors.enter(session, () => connection.send(421, '4.4.2 This takes too long'))
      answer(refused ? refusal(421, '4.7.0 Too many connections from you') : null)
    },
    onMailFrom(_sender, session, answer) {
      addressees.delete(session)
      answer(visitors.begins(session) ? null : refusal(421, '4.7.0 Enough for one connection'))
    },
    onRcptTo({ address }, session, answer) {
      const addressee = addresseeOf(address)
      if (addressee) addressees.set(session, addressee)
      if (addressee || !visitors.isLost(session)) return answer(addressee ? null : refusal(550, '5.7.1 No relay'))
      answer(refusal(421, '4.7.0 Too many unknown recipients'))
    },
    onData(content, session, answer) {
      readData(content, addressees.get(session)!, answer)
      content.on('data', () => {
        if ((content.byteLength ?? 0) > FAR_TOO_LARGE * limits.messageBytes) visitors.sendAway(session)
      })
    },
    onClose: (session) => visitors.leave(session),
  })
  server.server.maxConnections = DROPPED_FROM * limits.connections
  // Clients that hang up in the middle: nothing is lost by it.
  server.on('error', () => {})
  server.listen(parts.port, parts.host)
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    close: () => new Promise((closed) => server.close(closed)),
  }
}

type Answer = (error: Error | null, message?: string) => void

/** Reads a mail into memory, of which all that are being read share one measure, and has it taken. */
function dataReader({ receive, failed }: ListenerParts, { bytesHeld }: ListenerLimits) {
  let held = 0
  return (stream: SMTPServerDataStream, addressee: Addressee, answer: Answer) => {
    let chunks: Buffer[] = []
    let bytes = 0
    let isBusy = false
    const release = () => {
      held -= bytes
      bytes = 0
      chunks = []
    }
    stream.on('data', (chunk: Buffer) => {
      if (isBusy || stream.sizeExceeded) return release()
      isBusy = held + chunk.length > bytesHeld
      if (isBusy) return release()
      chunks.push(chunk)
      bytes += chunk.length
      held += chunk.length
    })
    stream.on('error', release)
    stream.on('end', async () => {
      try {
        if (isBusy) throw new Error('too much mail at a time')
        if (!stream.sizeExceeded) await receive({ ...addressee, content: Buffer.concat(chunks) })
        answer(null, '2.0.0 Thank you')
      } catch (error) {
        failed(error)
        answer(refusal(451, '4.3.0 Not now, come again'))
      } finally {
        release()
      }
    })
  }
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode })
}
