import type { WireMessage } from './proxy.ts'

// As much of the PostgreSQL protocol as tells which statement a message asks for or answers:
// https://www.postgresql.org/docs/current/protocol-message-formats.html

export interface Statements {
  /** The SQL of statements that begin to run with this message. */
  asked: string[]
  /** The SQL of statements whose last word (ReadyForQuery) is in this message: what they did is committed, or never will be. */
  answered: string[]
}

/** Follows the conversations of one proxy, from their first byte on. */
export function readStatements(): (message: WireMessage) => Statements {
  const conversations = new Map<number, ReturnType<typeof readConversation>>()
  return (message) => {
    const known = conversations.get(message.connection) ?? readConversation()
    conversations.set(message.connection, known)
    return known(message)
  }
}

function readConversation(): (message: WireMessage) => Statements {
  const frames = { up: readFrames(true), down: readFrames(false) }
  const prepared = new Map<string, string>()
  const running: string[] = []

  return ({ direction, bytes }) => {
    const statements: Statements = { asked: [], answered: [] }
    const ask = (sql: string) => {
      running.push(sql)
      statements.asked.push(sql)
    }
    for (const { type, body } of frames[direction](bytes)) {
      const words = body.toString('latin1').split('\0')
      if (direction === 'up') {
        if (type === 'P') prepared.set(words[0]!, words[1]!)
        if (type === 'B') ask(prepared.get(words[1]!) ?? '')
        if (type === 'Q') ask(words[0]!)
      } else if (type === 'Z') {
        const sql = running.shift()
        if (sql !== undefined) statements.answered.push(sql)
      }
    }
    return statements
  }
}

/** Cuts a stream into its messages. The first one of a client, StartupMessage, has no type. */
function readFrames(startsUntyped: boolean): (bytes: Buffer) => { type: string; body: Buffer }[] {
  let rest: Buffer = Buffer.alloc(0)
  let typeLength = startsUntyped ? 0 : 1
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    const frames = []
    while (rest.length >= typeLength + 4) {
      const length = typeLength + rest.readUInt32BE(typeLength)
      if (rest.length < length) break
      frames.push({ type: rest.toString('latin1', 0, typeLength), body: rest.subarray(typeLength + 4, length) })
      rest = rest.subarray(length)
      typeLength = 1
    }
    return frames
  }
}
