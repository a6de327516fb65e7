import type { Socket } from 'node:net'
import { createAlarm } from './alarm.ts'
import { createReplyParser, type RawReply } from './reply.ts'

/** Why a conversation cannot go on. */
export interface Broken {
  kind: 'broken'
  how:
    | 'closed'
    /** Nothing came in time; the connection itself is still there. */
    | 'timeout'
    /** Not SMTP, or a reply nobody asked for. */
    | 'garbage'
    /** Our caller gave up. */
    | 'left'
  detail: string
  /** The reply nobody asked for. */
  reply?: RawReply
}

export type Heard = RawReply | Broken

/** A connection that speaks lines and hears replies, with one deadline at a time. Nothing here throws. */
export interface Wire {
  /** Sends commands that will be answered by so many replies; nothing once the wire is broken. */
  say(commands: string, replies: number): void
  /** The next reply asked for; on a timeout the wire stays open. */
  hear(untilMs: number): Promise<Heard>
  /** Sends content; ends when the kernel has taken all of it, or never if the wire breaks. */
  pour(pieces: readonly Buffer[]): Promise<void>
  /** What `work` (which never rejects) gives, unless the wire breaks or the time is over first. */
  during<T>(work: Promise<T>, untilMs: number): Promise<T | Broken>
  /** Between two transactions: `onEnd` is told once of a close, of an unasked word or of the end of the time. */
  rest(untilMs: number, onEnd: () => void): void
  wake(): void
  /** Why nothing more may be said: the wire is broken, or there are words that nobody asked for. */
  trouble(): Broken | undefined
  /** No trouble, and no reply is owed. */
  isQuiet(): boolean
  /** Ends all waiting with `left` and closes at once. */
  leave(): void
  /** Stops listening and hands the socket on, for TLS. */
  detach(): Socket
  destroy(): void
  /** Says QUIT if the conversation is intact, and closes. */
  quit(): void
}

const QUIT_PATIENCE_MS = 1_000

/** `due`: the replies the server owes from the start, such as its greeting. */
export function createWire(socket: Socket, due: number): Wire {
  const parser = createReplyParser()
  const heard: RawReply[] = []
  let broken: Broken | undefined
  let settle: ((broken?: Broken) => void) | undefined
  const alarm = createAlarm(() => end({ kind: 'broken', how: 'timeout', detail: 'out of time' }))

  function end(reason?: Broken): void {
    alarm.clear()
    const waiting = settle
    settle = undefined
    waiting?.(reason)
  }

  function breakWith(how: Broken['how'], detail: string, reply?: RawReply): void {
    broken ??= { kind: 'broken', how, detail, reply }
    end(broken)
  }

  function wait(untilMs: number, done: (broken?: Broken) => void): void {
    settle = done
    alarm.set(untilMs)
  }

  function onData(chunk: Buffer): void {
    for (const parsed of parser.push(chunk)) {
      if (parsed.kind === 'malformed') {
        breakWith('garbage', parsed.detail)
      } else if (due === 0) {
        breakWith('garbage', 'a reply nobody asked for', parsed)
      } else {
        due--
        heard.push(parsed)
      }
    }
    if (heard.length > 0) end()
  }

  function write(pieces: Buffer[]): Promise<void> {
    return new Promise((resolve) => {
      socket.cork()
      for (const piece of pieces.slice(0, -1)) socket.write(piece)
      socket.write(pieces.at(-1)!, (error) => error ?? resolve())
      socket.uncork()
    })
  }

  const onError = (error: NodeJS.ErrnoException) => breakWith('closed', error.code ?? error.message)
  const onClose = () => breakWith('closed', 'closed')
  socket.on('data', onData).on('error', onError).on('end', onClose).on('close', onClose)

  const wire: Wire = {
    say(commands, replies) {
      if (wire.trouble()) return
      due += replies
      socket.write(commands, 'latin1')
    },
    hear(untilMs) {
      const next = heard.shift() ?? broken
      if (next) return Promise.resolve(next)
      return new Promise((resolve) => wait(untilMs, (reason) => resolve(heard.shift() ?? reason!)))
    },
    async pour(pieces) {
      for (const batch of batchesOf(pieces)) await write(batch)
    },
    during(work, untilMs) {
      if (broken) return Promise.resolve(broken)
      return new Promise((resolve) => {
        const interrupt = (reason?: Broken) => resolve(reason!)
        wait(untilMs, interrupt)
        work.then((value) => {
          if (settle === interrupt) wire.wake()
          resolve(value)
        })
      })
    },
    rest: (untilMs, onEnd) => (broken ? onEnd() : wait(untilMs, onEnd)),
    wake() {
      settle = undefined
      alarm.clear()
    },
    trouble() {
      if (due === 0 && parser.midway()) breakWith('garbage', 'words nobody asked for')
      return broken
    },
    isQuiet: () => due === 0 && heard.length === 0 && wire.trouble() === undefined,
    leave() {
      breakWith('left', 'the caller left')
      wire.destroy()
    },
    detach() {
      alarm.stop()
      socket.off('data', onData).off('error', onError).off('end', onClose).off('close', onClose)
      return socket
    },
    destroy() {
      broken ??= { kind: 'broken', how: 'closed', detail: 'closed by us' }
      wire.detach().on('error', () => {})
      socket.destroy()
    },
    quit() {
      if (!wire.isQuiet()) return wire.destroy()
      wire.detach().on('error', () => {})
      socket.end('QUIT\r\n')
      socket.resume()
      setTimeout(() => socket.destroy(), QUIT_PATIENCE_MS).unref()
    },
  }
  return wire
}

/** So that TLS never holds more than this of a message in its own copy. */
const BATCH_BYTES = 262_144

function batchesOf(pieces: readonly Buffer[]): Buffer[][] {
  const batches: Buffer[][] = []
  let room = 0
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += BATCH_BYTES) {
      const part = piece.subarray(at, at + BATCH_BYTES)
      if (part.length > room) {
        batches.push([])
        room = BATCH_BYTES
      }
      batches.at(-1)!.push(part)
      room -= part.length
    }
  }
  return batches
}
