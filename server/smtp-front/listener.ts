import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import {
  SMTPServer,
  type SMTPServerAddress,
  type SMTPServerAuthentication,
  type SMTPServerAuthenticationResponse,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server'
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
  type SmtpConnection,
  smtpConnectionOf,
  watchCommands,
} from '../../net/smtp-commands.ts'
import { keepDoor } from '../../net/smtp-sockets.ts'
import { isLoopback } from '../config/values.ts'
import type { Away } from './clients.ts'
import type { DotReply } from './dot-reply.ts'
import { FRONT_LIMITS, type FrontLimits, type FrontMail, type FrontParts, SHUTTING_DOWN } from './parts.ts'
import { createContentReceiver } from './receive.ts'
import { createFrontShares, type FrontShares } from './shares.ts'

/** RFC 5321 4.5.3.1.4 asks for 512; extensions and keys need more. */
const MAX_COMMAND_BYTES = 4_096
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

type Envelope = Pick<FrontMail, 'sender' | 'recipients'>
type Reply = (error: Error | null) => void

/** The mail server for programs. Its reply to the final dot is that of the recipient's own server. */
export async function listenForSmtp(parts: FrontParts): Promise<SmtpFront> {
  const server = new FrontServer(parts, { ...FRONT_LIMITS, ...parts.limits })
  server.listen(parts.port, parts.host)
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    connections: () => server.clients.size(),
    showCertificate: (pair) => server.updateSecureContext(pair),
    close: ({ timeoutMs }) => server.shutDown(timeoutMs),
  }
}

class FrontServer extends SMTPServer {
  readonly clients: FrontShares['clients']
  readonly #parts: FrontParts
  readonly #limits: FrontLimits
  readonly #receive: ReturnType<typeof createContentReceiver>
  readonly #running = new Set<Promise<unknown>>()
  /** By the library's envelope, whose own list leaves out recipients that come twice. */
  readonly #envelopes = new WeakMap<object, Envelope>()
  #isClosing = false

  constructor(parts: FrontParts, limits: FrontLimits) {
    super(optionsOf(parts, limits))
    const { clients, held } = parts.shares ?? createFrontShares(limits)
    this.clients = clients
    this.#parts = parts
    this.#limits = limits
    this.#receive = createContentReceiver(parts, limits, held)
    keepDoor(this, {
      connections: limits.connections,
      handshakeMs: parts.implicitTls ? limits.handshakeMs : undefined,
      enter: ({ id, remoteAddress }, sendAway) =>
        clients.enter(id, remoteAddress, (why) => sendAway(AWAY[why]))
          ? undefined
          : '4.7.0 Too many connections without a key',
      leave: ({ id }) => clients.leave(id),
    })
    // Clients that hang up in the middle are no fault: nothing is lost by it.
    this.on('error', () => {})
  }

  override onConnect(session: SMTPServerSession, reply: Reply) {
    const needsTls = !isLoopback(this.#parts.host)
    if (needsTls && !session.secure) session.disabledCommands = ['AUTH']
    const connection = smtpConnectionOf(this, session)
    if (connection) {
      if (needsTls) {
        refuseCommands(connection, (verb) => (!session.secure && NEEDS_TLS.has(verb) ? TLS_FIRST : undefined))
      }
      watchCommands(connection, (verb) => this.clients.note(session.id, verb))
      giveEnhancedCodes(connection)
      refuseParameters(connection, OFFERED)
      askBeforeData(connection, () => this.#parts.begin(loginOf(session)))
      answerHalfClosed(connection)
    }
    reply(null)
  }

  override onSecure(_socket: unknown, session: SMTPServerSession, reply: Reply): void {
    session.disabledCommands = undefined
    const connection = smtpConnectionOf(this, session)
    // With implicit TLS there is one socket only.
    if (connection && !this.#parts.implicitTls) answerHalfClosed(connection)
    reply(null)
  }

  override onAuth(
    { password }: SMTPServerAuthentication,
    session: SMTPServerSession,
    reply: (error: Error | null, response?: SMTPServerAuthenticationResponse) => void,
  ): void {
    const key = password ?? ''
    this.clients.setWaiting(session.id, true)
    this.#parts.logIn({ key, remoteAddress: session.remoteAddress }).then(
      (login) => {
        this.clients.setWaiting(session.id, false)
        if ('code' in login) return this.#refuseKey(session, login, reply)
        if (!this.clients.logIn(session.id, login.accountId)) {
          return reply(refusal(421, '4.7.0 Too many connections of this account'))
        }
        reply(null, { user: { key } satisfies User })
      },
      () => {
        this.clients.setWaiting(session.id, false)
        reply(refusal(454, '4.3.0 The key could not be checked. Try again'))
      },
    )
  }

  override onMailFrom({ address }: SMTPServerAddress, session: SMTPServerSession, reply: Reply) {
    if (this.#isClosing) return reply(refusal(421, SHUTTING_DOWN))
    if (!session.user) return reply(refusal(530, AUTH_FIRST))
    if (address === '') return reply(refusal(550, '5.7.1 MAIL FROM must name an address of a verified domain'))
    const sender = parseAddress(address)
    if (!sender) return reply(refusal(553, '5.1.7 MAIL FROM is not an address the service can use'))
    this.#envelopes.set(session.envelope, { sender, recipients: [] })
    reply(null)
  }

  override onRcptTo({ address }: SMTPServerAddress, session: SMTPServerSession, reply: Reply) {
    const recipient = parseAddress(address)
    if (!recipient) return reply(refusal(553, '5.1.3 This is not an address the service can use'))
    const { recipients } = this.#envelopes.get(session.envelope)!
    if (recipients.length >= this.#parts.maxRecipients) {
      return reply(refusal(452, '4.5.3 Too many recipients for one message'))
    }
    recipients.push(recipient)
    reply(null)
  }

  override onData(
    content: SMTPServerDataStream,
    session: SMTPServerSession,
    reply: (error: Error | null, message?: string) => void,
  ): void {
    const { name: serverName, isLmtp = false } = this.#parts
    const timer = setTimeout(() => {
      this.#replyOn(session, { code: 421, lines: ['4.4.2 The content took too long'] })
    }, this.#limits.contentMs)
    const leave = new AbortController()
    const { promise: hasRead, resolve: noteRead } = Promise.withResolvers<void>()
    const connection = smtpConnectionOf(this, session)
    const stopNoting = connection && noteLeave(connection, () => leave.abort())
    const work = this.#receive(
      content,
      {
        ...loginOf(session),
        ...this.#envelopes.get(session.envelope)!,
        ...{ serverName, isSecure: session.secure, isLmtp, isUtf8: session.envelope.smtpUtf8 === true },
        ...{ accountId: this.clients.accountOf(session.id), left: leave.signal, hasRead },
      },
      {
        tooLarge: () => this.#replyOn(session, { code: 421, lines: ['5.3.4 The message is far too large'] }),
        isClosing: () => this.#isClosing,
        received: () => clearTimeout(timer),
      },
    )
      .then((answers) => this.#replyToDot(session, connection, answers, noteRead))
      // An empty list: the replies are sent already, with all their lines.
      .then(() => reply(null, [] as never))
      .finally(() => {
        clearTimeout(timer)
        stopNoting?.()
        this.#running.delete(work)
      })
    this.#running.add(work)
  }

  async shutDown(timeoutMs: number): Promise<void> {
    this.#isClosing = true
    this.server.close()
    for (const connection of this.connections) {
      if (!connection.session.envelope.mailFrom) connection.send(421, SHUTTING_DOWN)
    }
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, timeoutMs)
    await Promise.race([late, Promise.allSettled(this.#running)])
    clearTimeout(timer)
    await new Promise<void>((closed) => this.close(() => closed()))
  }

  #replyOn(session: SMTPServerSession, { code, lines }: DotReply): void {
    const [line = '', ...more] = lines
    smtpConnectionOf(this, session)?.send(code, more.length === 0 ? line : lines)
  }

  #refuseKey(session: SMTPServerSession, { code, lines }: DotReply, reply: Reply): void {
    reply(refusal(code, lines.join(' ')))
    if (code >= 500 && !this.clients.mayTryAgain(session.id)) {
      this.#replyOn(session, { code: 421, lines: ['4.7.0 Too many wrong keys'] })
    }
  }

  async #replyToDot(
    session: SMTPServerSession,
    connection: SmtpConnection | undefined,
    answers: DotReply[] | undefined,
    noteRead: () => void,
  ): Promise<void> {
    if (!answers) smtpConnectionOf(this, session)?.close()
    const [first] = answers ?? []
    if (first && !this.#parts.isLmtp && connection && isHalfClosed(connection)) {
      if (await replyToHalfClosed(connection, first)) noteRead()
    } else {
      for (const answer of answers ?? []) this.#replyOn(session, answer)
    }
  }
}

function optionsOf({ name, tls, implicitTls, isLmtp }: FrontParts, limits: FrontLimits): SMTPServerOptions {
  return {
    name,
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
    maxCommandLength: MAX_COMMAND_BYTES,
    socketTimeout: limits.idleMs,
    closeTimeout: CLOSE_WITHIN_MS,
  }
}

interface User {
  key: string
}

/** A session without a user has no key, which the service refuses. */
const loginOf = ({ user, remoteAddress }: SMTPServerSession) => {
  return { key: (user as unknown as User | undefined)?.key ?? '', remoteAddress }
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode })
}
