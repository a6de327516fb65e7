import type { Socket } from 'node:net'
import { createAlarm } from './alarm.ts'
import { createReplyParser, type RawReply } from './reply.ts'
import { watchUnblocked } from './stalls.ts'

/** Why a conversation cannot go on. */
export interface BrokenWire {
  kind: 'broken'
  how:
    | 'closed'
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
}

/** A connection that sends command lines and reads replies, with one deadline at a time. No method fails by itself. */
export interface Wire {
  /** Sends commands to which the server owes this number of replies; sends nothing once the wire is broken. */
  send(commands: string, replies: number): void
  /** The next reply that the server owes; on a timeout the wire stays open. */
  nextReply(untilMs: number): Promise<RawReply | BrokenWire>
  /** Sends content; resolves when the kernel has taken all of it, or never if the wire breaks. */
  sendContent(pieces: readonly Buffer[]): Promise<void>
  /** The result of `work`, unless the wire breaks or the deadline passes first. */
  during<T>(work: Promise<T>, untilMs: number): Promise<T | BrokenWire>
  /** Watches the wire between two transactions: calls `onEnd` once on a close, unexpected input or the deadline. */
  watchIdle(untilMs: number, onEnd: () => void): void
  /** Ends `watchIdle` without a call of `onEnd`. */
  stopWatching(): void
  /** Why nothing more may be sent: the wire is broken, or holds input that is the reply to no command. */
  trouble(): BrokenWire | undefined
  /** True while there is no trouble and the server owes no reply. */
  isQuiet(): boolean
  /** Ends all waiting with `left` and closes at once. */
  abandon(): void
  /** Stops reading and hands the socket over, for TLS. */
  detach(): Socket
  destroy(): void
  /** Sends QUIT (RFC 5321 4.1.1.10) if the conversation is intact, and closes. Calls `onClosed` once it has closed. */
  quit(onClosed?: () => void): void
}

/**
 * How long the server has to take QUIT before the socket is destroyed. The connection holds its place at the site until
 * then: a busy server still counts a connection that it has not ended, and would refuse a further one.
 */
const QUIT_MS = 3_000

/** `owedReplies`: the replies the server owes from the start, such as its greeting. */
export function createWire(socket: Socket, owedReplies: number): Wire {
  const inbox = createInbox(owedReplies)
  const wait = createWait()
  let broken: BrokenWire | undefined

  function breakWith(how: BrokenWire['how'], detail: string, reply?: RawReply): void {
    broken ??= { kind: 'broken', how, detail, reply }
    wait.end(broken)
  }

  function onData(chunk: Buffer): void {
    const fault = inbox.add(chunk)
    if (fault) breakWith('garbage', fault.detail, fault.reply)
    else if (!inbox.isEmpty()) wait.end()
  }

  const onError = (error: NodeJS.ErrnoException) => breakWith('closed', error.code ?? error.message)
  const onClose = () => breakWith('closed', 'closed')
  socket.on('data', onData).on('error', onError).on('end', onClose).on('close', onClose)

  const wire: Wire = {
    send(commands, replies) {
      if (wire.trouble()) return
      inbox.expect(replies)
      socket.write(commands)
    },
    nextReply(untilMs) {
      const next = inbox.take() ?? broken
      if (next) return Promise.resolve(next)
      return new Promise((resolve) => wait.start(untilMs, (reason) => resolve(inbox.take() ?? reason!)))
    },
    async sendContent(pieces) {
      for (const batch of batchesOf(pieces)) await write(socket, batch)
    },
    during(work, untilMs) {
      if (broken) return Promise.resolve(broken)
      return new Promise((resolve, reject) => {
        const interrupt = (reason?: BrokenWire) => resolve(reason!)
        wait.start(untilMs, interrupt)
        work.then((result) => {
          if (wait.isFor(interrupt)) wait.cancel()
          resolve(result)
        }, reject)
      })
    },
    watchIdle: (untilMs, onEnd) => (broken ? onEnd() : wait.start(untilMs, onEnd)),
    stopWatching: wait.cancel,
    trouble() {
      if (inbox.hasUnexpectedInput()) breakWith('garbage', 'input that answers no command')
      return broken
    },
    isQuiet: () => inbox.isSettled() && wire.trouble() === undefined,
    abandon() {
      breakWith('left', 'the caller left')
      wire.destroy()
    },
    detach() {
      wait.stop()
      socket.off('data', onData).off('error', onError).off('end', onClose).off('close', onClose)
      return socket
    },
    destroy() {
      broken ??= { kind: 'broken', how: 'closed', detail: 'closed by us' }
      wire.detach().on('error', () => {})
      socket.destroy()
    },
    quit(onClosed = () => {}) {
      if (socket.closed) return onClosed()
      socket.once('close', onClosed)
      if (!wire.isQuiet()) return wire.destroy()
      wire.detach().on('error', () => {})
      socket.end('QUIT\r\n')
      socket.resume()
      setTimeout(() => socket.destroy(), QUIT_MS).unref()
    },
  }
  return wire
}

/** The replies that have come and wait to be taken, and how many the server still owes. */
function createInbox(owedReplies: number) {
  const parser = createReplyParser()
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
  let silentMs = () => 0
  const alarm = createAlarm(() => end({ kind: 'broken', how: 'timeout', detail: 'out of time', silentMs: silentMs() }))

  function start(untilMs: number, continuation: Continuation): void {
    resume = continuation
    silentMs = watchUnblocked()
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

  return { start, end, cancel, stop: alarm.stop, isFor: (continuation: Continuation) => resume === continuation }
}

function write(socket: Socket, pieces: Buffer[]): Promise<void> {
  return new Promise((resolve) => {
    socket.cork()
    for (const piece of pieces.slice(0, -1)) socket.write(piece)
    socket.write(pieces.at(-1)!, (error) => error ?? resolve())
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
