import type { Socket } from 'node:net'
import { endedBy } from '../../net/own-errors.ts'
import { Alarm, unblocked } from './alarm.ts'
import { type RawReply, ReplyParser } from './reply.ts'

/** Why a conversation cannot go on. */
export interface BrokenWire {
  kind: 'broken'
  how:
    | 'closed'
    /** An error of this machine, which proves nothing about the other one. */
    | 'local'
    /** Nothing came in time; the connection itself is still open. */
    | 'timeout'
    /** The server sent something that is not SMTP, or a reply without a command. */
    | 'garbage'
    /** Our caller gave up. */
    | 'left'
  detail: string
  /** The reply without a command. */
  reply?: RawReply
  /** For how long nothing came while this process could have read it, before a timeout. */
  silentMs?: number
  /** For how long we had kept the server waiting when it closed, or said what answers no command. */
  keptMs?: number
}

/**
 * How long the server has to take QUIT before the socket is destroyed. The connection holds its place at the site until
 * then: a busy server still counts a connection that it has not ended, and would refuse a further one.
 */
const QUIT_MS = 3_000

/** A connection that sends command lines and reads replies, with one deadline at a time. No method fails by itself. */
export class Wire {
  readonly #socket: Socket
  readonly #inbox: ReturnType<typeof createInbox>
  readonly #wait = createWait()
  #broken: BrokenWire | undefined
  /** When something was last sent or read, on the clock of what servers keep us waiting for. */
  #activeAtMs = unblocked.now()
  /** `stalledMs()` at the last write, and at the last write before the last read. */
  #stalledMs: number
  #stalledBeforeMs: number

  /**
   * @param owedReplies the replies the server owes from the start, such as its greeting
   * @param stalledMs what the event loop had been blocked for when the connection was asked for
   */
  constructor(socket: Socket, owedReplies: number, stalledMs = unblocked.stalledMs()) {
    this.#socket = socket
    this.#stalledMs = this.#stalledBeforeMs = stalledMs
    this.#inbox = createInbox(owedReplies)
    socket.on('data', this.#onData).on('error', this.#onError).on('end', this.#onClose).on('close', this.#onClose)
  }

  readonly #onData = (chunk: Buffer) => {
    const keptMs = this.#keptMs()
    this.#activeAtMs = unblocked.now()
    this.#stalledBeforeMs = this.#stalledMs
    const fault = this.#inbox.add(chunk)
    if (fault) this.#breakWith('garbage', fault.detail, { reply: fault.reply, keptMs })
    else if (!this.#inbox.isEmpty()) this.#wait.end()
  }

  readonly #onError = ({ code = '', message }: NodeJS.ErrnoException) => this.#onEnd(endedBy(code), code || message)
  readonly #onClose = () => this.#onEnd('closed', 'closed')

  #onEnd(how: 'closed' | 'local', detail: string): void {
    this.#breakWith(how, detail, { keptMs: this.#keptMs() })
  }

  /** A server that owes no reply waits for us. After a stall it may end what it has begun before our next command. */
  #keptMs(): number {
    const waitedMs = this.#inbox.owesReply() ? 0 : unblocked.now() - this.#activeAtMs
    return waitedMs + unblocked.stalledMs() - this.#stalledBeforeMs
  }

  #noteWrite(): void {
    this.#activeAtMs = unblocked.now()
    this.#stalledMs = unblocked.stalledMs()
  }

  #breakWith(how: BrokenWire['how'], detail: string, more?: Pick<BrokenWire, 'reply' | 'keptMs'>): void {
    this.#broken ??= { kind: 'broken', how, detail, ...more }
    this.#wait.end(this.#broken)
  }

  /** Sends commands to which the server owes this number of replies; sends nothing once the wire is broken. */
  send(commands: string, replies: number): void {
    if (this.trouble()) return
    this.#inbox.expect(replies)
    this.#noteWrite()
    this.#socket.write(commands)
  }

  /** The next reply that the server owes; on a timeout the wire stays open. */
  nextReply(untilMs: number): Promise<RawReply | BrokenWire> {
    const next = this.#inbox.take() ?? this.#broken
    if (next) return Promise.resolve(next)
    return new Promise((resolve) => {
      this.#wait.start(untilMs, (reason) => resolve(this.#inbox.take() ?? reason!))
    })
  }

  /** Sends content; resolves when the kernel has taken all of it, or never if the wire breaks. */
  async sendContent(pieces: readonly Buffer[]): Promise<void> {
    for (const batch of batchesOf(pieces)) {
      await write(this.#socket, batch)
      this.#noteWrite()
    }
  }

  /** The result of `work`, unless the wire breaks or the deadline passes first. */
  during<T>(work: Promise<T>, untilMs: number): Promise<T | BrokenWire> {
    if (this.#broken) return Promise.resolve(this.#broken)
    return new Promise((resolve, reject) => {
      const interrupt = (reason?: BrokenWire) => resolve(reason!)
      this.#wait.start(untilMs, interrupt)
      work.then((result) => {
        if (this.#wait.isFor(interrupt)) this.#wait.cancel()
        resolve(result)
      }, reject)
    })
  }

  /** Watches the wire between two transactions: calls `onEnd` once on a close, unexpected input or the deadline. */
  watchIdle(untilMs: number, onEnd: () => void): void {
    if (this.#broken) onEnd()
    else this.#wait.start(untilMs, onEnd)
  }

  /** Ends `watchIdle` without a call of `onEnd`. A server without a message was not kept waiting. */
  stopWatching(): void {
    this.#wait.cancel()
    this.#noteWrite()
    this.#stalledBeforeMs = this.#stalledMs
  }

  /** Why nothing more may be sent: the wire is broken, or holds input that is the reply to no command. */
  trouble(): BrokenWire | undefined {
    if (this.#inbox.hasUnexpectedInput()) this.#breakWith('garbage', 'input that answers no command')
    return this.#broken
  }

  /** True while there is no trouble and the server owes no reply. */
  isQuiet(): boolean {
    return this.#inbox.isSettled() && this.trouble() === undefined
  }

  /** Ends all waiting with `left` and closes at once. */
  readonly abandon = () => {
    this.#breakWith('left', 'the caller left')
    this.destroy()
  }

  /** Stops reading and hands the socket over, for TLS. */
  detach(): Socket {
    this.#wait.stop()
    const socket = this.#socket.off('data', this.#onData).off('error', this.#onError)
    return socket.off('end', this.#onClose).off('close', this.#onClose)
  }

  destroy(): void {
    this.#broken ??= { kind: 'broken', how: 'closed', detail: 'closed by us' }
    this.detach().on('error', () => {})
    this.#socket.destroy()
  }

  /** Sends QUIT (RFC 5321 4.1.1.10) if the conversation is intact, and closes. Calls `onClosed` once it has closed. */
  quit(onClosed = () => {}) {
    const socket = this.#socket
    if (socket.closed) return onClosed()
    socket.once('close', onClosed)
    if (!this.isQuiet()) return this.destroy()
    this.detach().on('error', () => {})
    socket.end('QUIT\r\n')
    socket.resume()
    setTimeout(() => socket.destroy(), QUIT_MS).unref()
  }
}

/** The replies that have come and wait to be taken, and how many the server still owes. */
function createInbox(owedReplies: number) {
  const parser = new ReplyParser()
  const replies: RawReply[] = []
  let owed = owedReplies

  /** Parses what the server sent; returns the first fault in it. */
  function add(chunk: Buffer): { detail: string; reply?: RawReply } | undefined {
    let fault: { detail: string; reply?: RawReply } | undefined
    for (const parsed of parser.push(chunk)) {
      if (parsed.kind === 'malformed') {
        fault ??= { detail: parsed.detail }
      } else if (owed === 0) {
        fault ??= { detail: 'a reply that answers no command', reply: parsed }
      } else {
        owed--
        replies.push(parsed)
      }
    }
    return fault
  }

  return {
    add,
    expect(more: number): void {
      owed += more
    },
    take: () => replies.shift(),
    isEmpty: () => replies.length === 0,
    owesReply: () => owed > 0,
    /** The server owes nothing, and everything it sent was taken. */
    isSettled: () => owed === 0 && replies.length === 0,
    /** Part of a reply has come although the server owes none. */
    hasUnexpectedInput: () => owed === 0 && parser.midway(),
  }
}

type Continuation = (reason?: BrokenWire) => void

/** One wait at a time: `end` resumes its caller, and so does its deadline, as a timeout. */
function createWait() {
  let resume: Continuation | undefined
  let startedAtMs = 0
  const alarm = new Alarm(() => {
    end({ kind: 'broken', how: 'timeout', detail: 'out of time', silentMs: unblocked.now() - startedAtMs })
  })

  function start(untilMs: number, continuation: Continuation): void {
    resume = continuation
    startedAtMs = unblocked.now()
    alarm.set(untilMs)
  }

  function end(reason?: BrokenWire): void {
    const continuation = resume
    cancel()
    continuation?.(reason)
  }

  /** Ends the wait without resuming its caller. */
  function cancel(): void {
    resume = undefined
    alarm.clear()
  }

  return {
    start,
    end,
    cancel,
    stop: () => alarm.stop(),
    isFor: (continuation: Continuation) => resume === continuation,
  }
}

function write(socket: Socket, pieces: Buffer[]): Promise<void> {
  return new Promise((resolve) => {
    socket.cork()
    for (const [i, piece] of pieces.entries()) {
      socket.write(piece, i === pieces.length - 1 ? (error) => error ?? resolve() : undefined)
    }
    socket.uncork()
  })
}

/** TLS copies what it is given to write; this bounds the copy, however large the message is. */
const BATCH_BYTES = 262_144

function batchesOf(pieces: readonly Buffer[]): Buffer[][] {
  const batches: Buffer[][] = []
  let batch: Buffer[] = []
  let room = 0
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += BATCH_BYTES) {
      const part = piece.subarray(at, at + BATCH_BYTES)
      if (part.length > room) {
        batch = []
        batches.push(batch)
        room = BATCH_BYTES
      }
      batch.push(part)
      room -= part.length
    }
  }
  return batches
}
