import { setTimeout as pause } from 'node:timers/promises'
import type { SMTPServer, SMTPServerSession } from 'smtp-server'

// What our mail servers need of a connection and smtp-server does not offer. The methods that are replaced here are not
// documented: test/net/smtp-commands.test.ts finds a version of the library without them.

export type SmtpConnection = SMTPServer['connections'] extends Set<infer One> ? One : never

/** The connection of a session; undefined when it has ended. */
export function smtpConnectionOf(
  { connections }: SMTPServer,
  { id }: Pick<SMTPServerSession, 'id'>,
): SmtpConnection | undefined {
  return [...connections].find((connection) => connection.id === id)
}

/**
 * Replies to all that a client has sent before it closed its sending side (RFC 9293 3.6), and closes the connection
 * then. To be called for each socket of a connection: when it begins, and after STARTTLS.
 */
export function answerHalfClosed(connection: SmtpConnection): void {
  const { _socket: socket, _parser: parser } = connection
  if (!parser) return
  socket.allowHalfOpen = true
  // The library replies only while both directions are open.
  Object.defineProperty(socket, 'readyState', { get: () => (socket.writable ? 'open' : 'closed') })
  // Its own listener would carry out a line that has no end.
  parser.prependListener('finish', () => connection.close())
}

/**
 * Calls `note` when the client closes the connection, or its sending side. The function that it returns stops this. In
 * clear text a client may still read after that, see `replyToHalfClosed`.
 */
export function noteLeave({ _socket: socket }: SmtpConnection, note: () => void): () => void {
  const events = ['end', 'close']
  for (const event of events) socket.once(event, note)
  if (socket.destroyed || socket.readableEnded) note()
  return () => {
    for (const event of events) socket.off(event, note)
  }
}

export const isHalfClosed = ({ _socket: socket, session }: SmtpConnection): boolean =>
  !session.secure && socket.readableEnded && !socket.destroyed

/** For a client on this machine. Others use TLS. */
const RESET_WITHIN_MS = 20

/**
 * Sends a reply to a client that has closed its sending side in clear text, and returns whether the client reads it.
 * Where the client has closed the whole connection, its system answers the first octets with a reset (RFC 9293
 * 3.10.7.1), after which no more can be written.
 */
export async function replyToHalfClosed(
  { _socket: socket }: SmtpConnection,
  { code, lines }: SmtpReply,
): Promise<boolean> {
  const text = lines.map((line, i) => `${code}${i < lines.length - 1 ? '-' : ' '}${line}\r\n`).join('')
  socket.write(text.slice(0, -1))
  await pause(RESET_WITHIN_MS)
  return new Promise((resolve) => socket.write(text.slice(-1), (error) => resolve(!error)))
}

/**
 * Calls `note` with the verb of each complete command, in capitals, before it is carried out. A line that continues an
 * AUTH is noted as `AUTH`.
 */
export function watchCommands(connection: SmtpConnection, note: (verb: string) => void): void {
  const carryOut = connection._onCommand
  // Named before it is assigned, like the functions below: see test/old-generation.thorough.test.ts.
  const noted: SmtpConnection['_onCommand'] = function (this: SmtpConnection, command, next) {
    note(this._nextHandler ? 'AUTH' : verbOf(command))
    carryOut.call(this, command, next)
  }
  connection._onCommand = noted
}

/** A reply that ends a command. Each line begins with its enhanced code. */
export interface SmtpReply {
  code: number
  lines: string[]
}

function verbOf(command: Buffer): string {
  const [verb = ''] = command.toString('latin1').split(' ', 1)
  return verb.toUpperCase()
}

/** Sends what `refusalOf` returns for a command, given its verb in capitals, in place of carrying it out. */
export function refuseCommands(connection: SmtpConnection, refusalOf: (verb: string) => SmtpReply | undefined): void {
  const carryOut = connection._onCommand
  const refused: SmtpConnection['_onCommand'] = function (this: SmtpConnection, command, next) {
    const refusal = refusalOf(verbOf(command))
    if (!refusal) return carryOut.call(this, command, next)
    this.send(refusal.code, refusal.lines)
    if (next) setImmediate(next)
  }
  connection._onCommand = refused
}

/**
 * Calls `ask` before the 354 to a DATA that has recipients. What it resolves to is the reply in place of the 354; where
 * it rejects, the client is asked to come again.
 */
export function askBeforeData(connection: SmtpConnection, ask: () => Promise<SmtpReply | undefined>): void {
  const begin = connection.handler_DATA
  const asked: SmtpConnection['handler_DATA'] = function (this: SmtpConnection, command, next) {
    if (this.session.envelope.rcptTo.length === 0) return begin.call(this, command, next)
    const reply = (refusal: SmtpReply | undefined) => {
      if (!refusal) return begin.call(this, command, next)
      this.send(refusal.code, refusal.lines)
      next()
    }
    ask().then(reply, () => reply(NOT_NOW))
  }
  connection.handler_DATA = asked
}

const NOT_NOW: SmtpReply = { code: 451, lines: ['4.3.0 Not now, come again'] }

/** The parameters of MAIL and RCPT by their names, with the form of their values; a parameter without one has ''. */
export type OfferedParameters = Record<'MAIL' | 'RCPT', Record<string, RegExp>>

/** Replies to MAIL and RCPT with 555 when a parameter, or its value, was not offered (RFC 5321 4.1.1.11). */
export function refuseParameters(connection: SmtpConnection, offered: OfferedParameters): void {
  for (const verb of ['MAIL', 'RCPT'] as const) {
    const handler = `handler_${verb}` as const
    const carryOut = connection[handler]
    const checked: SmtpConnection[typeof handler] = function (this: SmtpConnection, command, next) {
      const parsed = this._parseAddressCommand(verb === 'MAIL' ? 'mail from' : 'rcpt to', command)
      const given = parsed ? parsed.args : undefined
      const unknown = Object.entries(given || {}).find(([name, value]) => {
        const form = Object.hasOwn(offered[verb], name) ? offered[verb][name] : undefined
        return !form?.test(value === true ? '' : String(value))
      })
      if (!unknown) return carryOut.call(this, command, next)
      this.send(555, `5.5.4 The parameter ${unknown[0]}, or its value, is not offered`)
      next()
    }
    connection[handler] = checked
  }
}

/** What a reply of the library means by its code (RFC 3463). Our own replies have their enhanced codes. */
const ENHANCED: Record<number, string> = {
  421: '4.3.2',
  450: '4.2.0',
  451: '4.3.0',
  452: '4.5.3',
  500: '5.5.1',
  501: '5.5.4',
  503: '5.5.1',
  504: '5.5.4',
  530: '5.7.0',
  535: '5.7.8',
  538: '5.7.11',
  550: '5.7.1',
  552: '5.3.4',
  553: '5.1.3',
}

/** Gives each reply of 4xx and 5xx that has no enhanced code one. */
export function giveEnhancedCodes(connection: SmtpConnection): void {
  const write = connection.send
  const sent: SmtpConnection['send'] = function (this: SmtpConnection, code, data, context) {
    const isBare = code >= 400 && typeof data === 'string' && !/^[45]\.\d{1,3}\.\d{1,3} /.test(data)
    write.call(this, code, isBare ? `${ENHANCED[code] ?? `${Math.floor(code / 100)}.0.0`} ${data}` : data, context)
  }
  connection.send = sent
}
