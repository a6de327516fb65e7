import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerAddress, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import { type Address, parseAddress } from '../../mail/address.ts'
import {
  answerHalfClosed,
  askBeforeData,
  giveEnhancedCodes,
  isHalfClosed,
  noteLeave,
  refuseCommands,
  refuseParameters,
  replyToHalfClosed,
  smtpConnectionOf,
  watchCommands,
} from '../../net/smtp-commands.ts'
import { isLoopback } from '../config/values.ts'
import type { Away } from './clients.ts'
import { type DotReply, ownReply } from './dot-reply.ts'
import { createMailContent } from './mail-content.ts'
import type { Way } from './received.ts'
import { createFrontShares, type FrontShares } from './shares.ts'

export interface FrontParts {
  host: string
  /** 0 chooses a free port. */
  port: number
  /** The name in the greeting. */
  name: string
  /** In PEM. Without it, keys are only taken on loopback. */
  tls?: { cert: string; key: string }
  /** TLS begins with the connection, and not by STARTTLS. */
  implicitTls: boolean
  /** LMTP (RFC 2033), for mail servers: each recipient has a reply of its own after the final dot. */
  isLmtp?: boolean
  /** The most recipients of a transaction. */
  maxRecipients: number
  /** What all listeners together may take; by default a listener has its own. */
  shares?: FrontShares
  /** Returns the account of a key, or the reply that refuses it. */
  logIn(login: { key: string; remoteAddress: string }): Promise<{ accountId: string } | DotReply>
  /** Counts a message, at its DATA; returns the reply that refuses it. */
  begin(login: { key: string; remoteAddress: string }): Promise<DotReply | undefined>
  /** Returns the reply to the final dot, or with LMTP one for each recipient; undefined when there is no honest one. */
  deliver(mail: FrontMail): Promise<DotReply[] | undefined>
  limits?: Partial<FrontLimits>
}

export interface FrontMail extends Way {
  /** The key is checked again for each message. */
  key: string
  remoteAddress: string
  sender: Address
  /** In the order of RCPT. One may be there twice. */
  recipients: Address[]
  /** Each recipient has a reply of its own. */
  isLmtp: boolean
  content: Buffer
  /** The program has given SMTPUTF8. */
  isUtf8: boolean
  /** Aborts when the client closes the connection, or its sending side, before its reply. */
  left: AbortSignal
  /** Resolves when a client that has closed its sending side has read the reply all the same. */
  hasRead: Promise<void>
}

export interface FrontLimits {
  connections: number
  strangersPerNetwork: number
  connectionsPerAccount: number
  loginMs: number
  authMs: number
  wrongKeys: number
  idleMs: number
  /** The time for the content of a message. */
  contentMs: number
  messageBytes: number
  /** The most memory that all messages take while they arrive and are sent; those of an account take half of it. */
  bytesHeld: number
}

const FRONT_LIMITS: FrontLimits = {
  connections: 1_000,
  strangersPerNetwork: 100,
  connectionsPerAccount: 200,
  loginMs: 30_000,
  authMs: 10_000,
  wrongKeys: 3,
  idleMs: 300_000,
  contentMs: 120_000,
  messageBytes: 15 * 2 ** 20,
  bytesHeld: 256 * 2 ** 20,
}
/** A message this many times too large is cut off. A smaller one is read and refused at its end, as SMTP requires. */
const FAR_TOO_LARGE = 2
/** RFC 5321 4.5.3.1.4 asks for 512; extensions and keys need more. */
const MAX_COMMAND_BYTES = 4_096
/** Refused sockets live for a moment. Beyond this multiple of the limit, connections are dropped without a reply. */
const DROPPED_FROM = 2
const CLOSE_WITHIN_MS = 500
const AWAY: Record<Away, string> = {
  late: '4.4.2 No key was given in time',
  crowded: '4.3.2 Too many connections without a key. Come again',
}
/** What each connection may always hold of a message. Of more, all messages of an account take half of the memory. */
const ALWAYS_HELD = 64 * 1024
const NEEDS_TLS = new Set(['AUTH', 'MAIL', 'RCPT'])
const TLS_FIRST = { code: 530, lines: ['5.7.0 Use STARTTLS first, then AUTH with an API key as the password'] }
/** The parameters of MAIL and RCPT, each with the values that it may have. */
const OFFERED = {
  MAIL: { SIZE: /./, BODY: /^(?:7BIT|8BITMIME)$/i, SMTPUTF8: /^$/, AUTH: /./ },
  RCPT: {},
}
const AUTH_FIRST = '5.7.0 Use AUTH first: any user name, and an API key as the password'
const SHUTTING_DOWN = '4.3.2 This server is shutting down. Nothing was sent; it is safe to retry'

/** What several listeners together may take. */
export const sharesOfListeners = (limits?: Partial<FrontLimits>) => createFrontShares({ ...FRONT_LIMITS, ...limits })

export interface SmtpFront {
  port: number
  connections(): number
  /** Ends idle connections at once, and waits for messages that are being sent. */
  close(options: { timeoutMs: number }): Promise<void>
  /** Later handshakes present this certificate. Needs `tls`. */
  showCertificate(pair: { cert: string; key: string }): void
}

interface User {
  key: string
}

/** The mail server for programs. Its reply to the final dot is that of the recipient's own server. */
export async function listenForSmtp(parts: FrontParts): Promise<SmtpFront> {
  const { tls, implicitTls, isLmtp = false } = parts
  const limits = { ...FRONT_LIMITS, ...parts.limits }
  const { clients, held } = parts.shares ?? createFrontShares(limits)
  const running = new Set<Promise<unknown>>()
  const receive = createReceiver(parts, limits, held)
  const needsTls = !isLoopback(parts.host)
  /** The recipients of each transaction, by its envelope: the library's own list leaves out those that come twice. */
  const accepted = new WeakMap<object, SMTPServerAddress[]>()
  let isClosing = false

  const server = new SMTPServer({
    name: parts.name,
    heloResponse: '%s',
    logger: false,
    disableReverseLookup: true,
    secure: implicitTls,
    lmtp: isLmtp,
    ...tls,
    minVersion: 'TLSv1.2',
    authMethods: ['PLAIN', 'LOGIN'],
    disabledCommands: tls ? [] : ['STARTTLS'],
    // On loopback a key may be given before STARTTLS. Elsewhere AUTH is disabled until then.
    allowInsecureAuth: true,
    // We write the enhanced codes ourselves: those of the recipient's server.
    hideENHANCEDSTATUSCODES: true,
    hideDSN: true,
    hideREQUIRETLS: true,
    size: limits.messageBytes,
    maxClients: DROPPED_FROM * limits.connections,
    maxCommandLength: MAX_COMMAND_BYTES,
    socketTimeout: limits.idleMs,
    closeTimeout: CLOSE_WITHIN_MS,
    onConnect(session, reply) {
      if (needsTls && !session.secure) session.disabledCommands = ['AUTH']
      const sendAway = (why: Away) => replyOn(session, { code: 421, lines: [AWAY[why]] })
      const connection = connectionOf(session)
      if (connection) {
        if (needsTls) {
          refuseCommands(connection, (verb) => (!session.secure && NEEDS_TLS.has(verb) ? TLS_FIRST : undefined))
        }
        watchCommands(connection, (verb) => clients.note(session.id, verb))
        giveEnhancedCodes(connection)
        refuseParameters(connection, OFFERED)
        askBeforeData(connection, () => parts.begin(loginOf(session)))
        answerHalfClosed(connection)
      }
      if (clients.enter(session.id, session.remoteAddress, sendAway)) return reply(null)
      reply(refusal(421, '4.7.0 Too many connections without a key'))
    },
    onSecure(_socket, session, reply) {
      session.disabledCommands = undefined
      const connection = connectionOf(session)
      // With implicit TLS there is one socket only.
      if (connection && !implicitTls) answerHalfClosed(connection)
      reply(null)
    },
    onAuth({ password }, session, reply) {
      const key = password ?? ''
      clients.setWaiting(session.id, true)
      parts.logIn({ key, remoteAddress: session.remoteAddress }).then(
        (login) => {
          clients.setWaiting(session.id, false)
          if ('code' in login) return refuseKey(session, login, reply)
          if (!clients.logIn(session.id, login.accountId)) {
            return reply(refusal(421, '4.7.0 Too many connections of this account'))
          }
          reply(null, { user: { key } satisfies User })
        },
        () => {
          clients.setWaiting(session.id, false)
          reply(refusal(454, '4.3.0 The key could not be checked. Try again'))
        },
      )
    },
    onMailFrom({ address }, session, reply) {
      if (isClosing) return reply(refusal(421, SHUTTING_DOWN))
      if (!userOf(session)) return reply(refusal(530, AUTH_FIRST))
      if (address === '') return reply(refusal(550, '5.7.1 MAIL FROM must name an address of a verified domain'))
      reply(parseAddress(address) ? null : refusal(553, '5.1.7 MAIL FROM is not an address the service can use'))
    },
    onRcptTo(recipient, session, reply) {
      const recipients = accepted.get(session.envelope) ?? []
      const fault = recipientFault(recipient, recipients.length, parts.maxRecipients)
      if (!fault) accepted.set(session.envelope, [...recipients, recipient])
      reply(fault)
    },
    onData(content, session, reply) {
      session.envelope.rcptTo = accepted.get(session.envelope)!
      const timer = setTimeout(() => {
        replyOn(session, { code: 421, lines: ['4.4.2 The content took too long'] })
      }, limits.contentMs)
      const leave = new AbortController()
      const { promise: hasRead, resolve: noteRead } = Promise.withResolvers<void>()
      const connection = connectionOf(session)
      const stopNoting = connection && noteLeave(connection, () => leave.abort())
      const work = receive(
        content,
        { ...mailOf(session, parts), accountId: clients.accountOf(session.id), left: leave.signal, hasRead },
        {
          tooLarge: () => replyOn(session, { code: 421, lines: ['5.3.4 The message is far too large'] }),
          isClosing: () => isClosing,
          received: () => clearTimeout(timer),
        },
      )
        .then(async (answers) => {
          if (!answers) connectionOf(session)?.close()
          if (answers && !isLmtp && connection && isHalfClosed(connection)) {
            if (await replyToHalfClosed(connection, answers[0]!)) noteRead()
          } else {
            for (const answer of answers ?? []) replyOn(session, answer)
          }
          // An empty list: the replies are sent already, with all their lines.
          reply(null, [] as never)
        })
        .finally(() => {
          clearTimeout(timer)
          stopNoting?.()
          running.delete(work)
        })
      running.add(work)
    },
    onClose: (session) => clients.leave(session.id),
  })
  server.server.maxConnections = 2 * DROPPED_FROM * limits.connections
  // Clients that hang up in the middle are no fault: nothing is lost by it.
  server.on('error', () => {})

  const connectionOf = (session: SMTPServerSession) => smtpConnectionOf(server, session)

  function replyOn(session: SMTPServerSession, { code, lines }: DotReply): void {
    connectionOf(session)?.send(code, lines.length === 1 ? lines[0]! : lines)
  }

  function refuseKey(session: SMTPServerSession, { code, lines }: DotReply, reply: (error: Error) => void): void {
    reply(refusal(code, lines.join(' ')))
    if (code >= 500 && !clients.mayTryAgain(session.id)) {
      replyOn(session, { code: 421, lines: ['4.7.0 Too many wrong keys'] })
    }
  }

  server.listen(parts.port, parts.host)
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    connections: clients.size,
    showCertificate: (pair) => server.updateSecureContext(pair),
    async close({ timeoutMs }) {
      isClosing = true
      server.server.close()
      for (const connection of server.connections) {
        if (!connection.session.envelope.mailFrom) connection.send(421, SHUTTING_DOWN)
      }
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, timeoutMs)
      await Promise.race([late, Promise.allSettled(running)])
      clearTimeout(timer)
      await new Promise<void>((closed) => server.close(() => closed()))
    },
  }
}

const userOf = (session: SMTPServerSession) => session.user as unknown as User | undefined
const loginOf = (session: SMTPServerSession) => ({ key: userOf(session)!.key, remoteAddress: session.remoteAddress })

function recipientFault({ address }: SMTPServerAddress, count: number, maxRecipients: number): Error | null {
  if (!parseAddress(address)) return refusal(553, '5.1.3 This is not an address the service can use')
  return count < maxRecipients ? null : refusal(452, '4.5.3 Too many recipients for one message')
}

function mailOf(
  session: SMTPServerSession,
  { name, isLmtp = false }: FrontParts,
): Omit<FrontMail, 'content' | 'left' | 'hasRead'> {
  const { mailFrom, rcptTo, smtpUtf8 } = session.envelope
  return {
    ...loginOf(session),
    sender: parseAddress((mailFrom as SMTPServerAddress).address)!,
    recipients: rcptTo.map(({ address }) => parseAddress(address)!),
    serverName: name,
    isSecure: session.secure,
    isLmtp,
    isUtf8: smtpUtf8 === true,
  }
}

interface Reception {
  tooLarge(): void
  isClosing(): boolean
  /** Called when the final dot has arrived. */
  received(): void
}

/** Reads the content of a message and delivers it. */
function createReceiver({ deliver }: FrontParts, { messageBytes }: FrontLimits, held: FrontShares['held']) {
  return async (
    stream: SMTPServerDataStream,
    { accountId, ...mail }: Omit<FrontMail, 'content'> & { accountId: string },
    { tooLarge, isClosing, received }: Reception,
  ): Promise<DotReply[] | undefined> => {
    /** A reply of our own is the same for all. */
    const toAll = (reply: DotReply) => (mail.isLmtp ? mail.recipients.map(() => reply) : [reply])
    let content: ReturnType<typeof createMailContent> | undefined = createMailContent()
    let bytes = 0
    const hold = (next: number) => {
      held.add(accountId, next - bytes)
      bytes = next
    }
    const hasRoom = (more: number) => (stream.byteLength ?? 0) <= ALWAYS_HELD || held.hasRoom(accountId, more)
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        if ((stream.byteLength ?? 0) > FAR_TOO_LARGE * messageBytes) tooLarge()
        if (stream.sizeExceeded || !hasRoom(piece.length)) content = undefined
        content?.add(piece)
        hold(content?.bytes() ?? 0)
      }
      received()
      if (stream.sizeExceeded) return toAll(ownReply(552, '5.3.4', `A message has at most ${messageBytes} bytes`))
      if (!content)
        return toAll(ownReply(452, '4.3.1', 'Too much mail at a time. Nothing was sent; it is safe to retry'))
      if (isClosing()) return [{ code: 421, lines: [SHUTTING_DOWN] }]
      return await deliver({ ...mail, content: content.end() })
    } catch {
      // The client left before its final dot.
      return undefined
    } finally {
      hold(0)
    }
  }
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode })
}
