import type { WireMessage } from './proxy.ts'

// Reads just enough of the PostgreSQL protocol to tell which statement a message sends or completes:
// https://www.postgresql.org/docs/current/protocol-message-formats.html

export interface Statements {
  /** The SQL of statements that this message starts. */
  starts: string[]
  /**
   * The SQL of statements whose ReadyForQuery is in this message: their changes are committed now, or never will be.
   */
  ends: string[]
}

/** Follows the connections of one proxy, beginning with their first byte. */
export function readStatements(): (message: WireMessage) => Statements {
  const conversations = new Map<number, ReturnType<typeof readConversation>>()
  return (message) => {
    const read = conversations.get(message.connection) ?? readConversation()
    conversations.set(message.connection, read)
    return read(message)
  }
}

function readConversation(): (message: WireMessage) => Statements {
  const frames = { up: readFrames(true), down: readFrames(false) }
  const preparedSql = new Map<string, string>()
  const running: string[] = []

  return ({ direction, bytes }) => {
    const statements: Statements = { starts: [], ends: [] }
    const ask = (sql: string) => {
      running.push(sql)
      statements.starts.push(sql)
    }
    for (const { type, body } of frames[direction](bytes)) {
      const words = body.toString('latin1').split('\0')
      if (direction === 'up') {
        if (type === 'P') preparedSql.set(words[0]!, words[1]!)
        if (type === 'B') ask(preparedSql.get(words[1]!) ?? '')
        if (type === 'Q') ask(words[0]!)
      } else if (type === 'Z') {
        const sql = running.shift()
        if (sql !== undefined) statements.ends.push(sql)
      }
    }
    return statements
  }
}

/** Cuts a stream into messages. A client's first message, StartupMessage, has no type. */
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
