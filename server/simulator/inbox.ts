/** A message that the simulator accepted. */
export interface InboxMessage {
  /** UUIDv7, which carries the time of arrival. */
  id: string
  /** UUID of the message, which leads to the account that sent it. */
  messageId: string
  recipients: string[]
  source: Buffer
}

export interface Inbox {
  /** Begins to keep a message; undefined when its return path is not one of this service. */
  begin(envelope: { returnPath: string; recipients: string[] }): Arrival | undefined
  /** The messages, the newest first. */
  messages(): InboxMessage[]
  delete(ids: readonly string[]): void
}

/** A message whose content arrives. */
export interface Arrival {
  add(piece: Buffer): void
  /** Keeps the message. */
  keep(): void
  /** Forgets what has arrived, unless the message is kept. */
  drop(): void
}

interface InboxParts {
  /** UUID of the message that a return path names; undefined when it was not made by this service. */
  messageIdOf(returnPath: string): string | undefined
  /** Creates a UUIDv7 of the current time. */
  newId(): string
  bounds?: { messages: number; bytes: number }
}

const BOUNDS = { messages: 500, bytes: 64 * 2 ** 20 }

/**
 * The newest messages that the simulator accepted, in memory. What still arrives counts towards the bytes, too. The
 * oldest messages go first; a message that alone is over the bounds is accepted and not kept.
 */
export function createInbox({ messageIdOf, newId, bounds = BOUNDS }: InboxParts): Inbox {
  // In the order of arrival.
  const kept = new Map<string, InboxMessage>()
  let bytes = 0

  function forget({ id, source }: InboxMessage): void {
    if (kept.delete(id)) bytes -= source.length
  }

  function makeRoom(): void {
    for (const oldest of kept.values()) {
      if (kept.size <= bounds.messages && bytes <= bounds.bytes) return
      forget(oldest)
    }
  }

  function arrival(messageId: string, recipients: string[]): Arrival {
    let pieces: Buffer[] | undefined = []
    let arrived = 0
    const drop = () => {
      if (pieces) bytes -= arrived
      pieces = undefined
    }
    return {
      add(piece) {
        if (!pieces) return
        pieces.push(piece)
        arrived += piece.length
        bytes += piece.length
        makeRoom()
        if (bytes > bounds.bytes) drop()
      },
      keep() {
        if (!pieces) return
        const id = newId()
        kept.set(id, { id, messageId, recipients, source: Buffer.concat(pieces) })
        pieces = undefined
        makeRoom()
      },
      drop,
    }
  }

  return {
    begin({ returnPath, recipients }) {
      const messageId = messageIdOf(returnPath)
      return messageId === undefined ? undefined : arrival(messageId, recipients)
    },
    messages: () => [...kept.values()].reverse(),
    delete(ids) {
      for (const id of ids) {
        const message = kept.get(id)
        if (message) forget(message)
      }
    },
  }
}
