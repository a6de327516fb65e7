import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { parseAddress } from '../../mail/address.ts'
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
import type { DotReply } from './dot-reply.ts'
import { FRONT_LIMITS, type FrontLimits, type FrontMail, type FrontParts, SHUTTING_DOWN } from './parts.ts'
import { createContentReceiver } from './receive.ts'
import { createFrontShares } from './shares.ts'

/** RFC 5321 4.5.3.1.4 asks for 512; extensions and keys need more. */
const MAX_COMMAND_BYTES = 4_096
/** Refused sockets live for a moment. Beyond this multiple of the limit, connections are dropped without a reply. */
const DROPPED_FROM = 2
const CLOSE_WITHIN_MS = 500
const AWAY: Record<Away, string> = {
  late: '4.4.2 No key was given in time',
  crowded: '4.3.2 Too many connections without a key. Come again',
}
const NEEDS_TLS = new Set(['AUTH', 'MAIL', 'RCPT'])
const TLS_FIRST = { code: 530, lines: ['5.7.0 Use STARTTLS first, then AUTH with an API key as the password'] }
/** The parameters of MAIL and RCPT, each with the values that it may have. */
const OFFERED = {
  MAIL: { SIZE: /./, BODY: /^(?:7BIT|8BITMIME)$/i, SMTPUTF8: /^$/, AUTH: /./ },
  RCPT: {},
}
const AUTH_FIRST = '5.7.0 Use AUTH first: any user name, and an API key as the password'

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

type Envelope = Pick<FrontMail, 'sender' | 'recipients'>

/** The mail server for programs. Its reply to the final dot is that of the recipient's own server. */
export async function listenForSmtp(parts: FrontParts): Promise<SmtpFront> {
  const { tls, implicitTls, isLmtp = false } = parts
  const limits = { ...FRONT_LIMITS, ...parts.limits }
  const { clients, held } = parts.shares ?? createFrontShares(limits)
  const running = new Set<Promise<unknown>>()
  const receive = createContentReceiver(parts, limits, held)
  const needsTls = !isLoopback(parts.host)
  /** By the library's envelope, whose own list leaves out recipients that come twice. */
  const envelopes = new WeakMap<object, Envelope>()
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
      const sender = parseAddress(address)
      if (!sender) return reply(refusal(553, '5.1.7 MAIL FROM is not an address the service can use'))
      envelopes.set(session.envelope, { sender, recipients: [] })
      reply(null)
    },
    onRcptTo({ address }, session, reply) {
      const recipient = parseAddress(address)
      if (!recipient) return reply(refusal(553, '5.1.3 This is not an address the service can use'))
      const { recipients } = envelopes.get(session.envelope)!
      if (recipients.length >= parts.maxRecipients) {
        return reply(refusal(452, '4.5.3 Too many recipients for one message'))
      }
      recipients.push(recipient)
      reply(null)
    },
    onData(content, session, reply) {
      const timer = setTimeout(() => {
        replyOn(session, { code: 421, lines: ['4.4.2 The content took too long'] })
      }, limits.contentMs)
      const leave = new AbortController()
      const { promise: hasRead, resolve: noteRead } = Promise.withResolvers<void>()
      const connection = connectionOf(session)
      const stopNoting = connection && noteLeave(connection, () => leave.abort())
      const work = receive(
        content,
        {
          ...loginOf(session),
          ...envelopes.get(session.envelope)!,
          ...{ serverName: parts.name, isSecure: session.secure, isLmtp, isUtf8: session.envelope.smtpUtf8 === true },
          ...{ accountId: clients.accountOf(session.id), left: leave.signal, hasRead },
        },
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

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode })
}
