/** A message that the simulator accepted. */
export interface InboxMessage {
  /** UUIDv7, which carries the time of arrival. */
  id: string
  /** UUID of the message, which leads to the account that sent it. */
  messageId: string
  recipients: string[]
  source: Buffer
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
export class Inbox {
  readonly #parts: InboxParts
  readonly #bounds: NonNullable<InboxParts['bounds']>
  // In the order of arrival.
  readonly #kept = new Map<string, InboxMessage>()
  #bytes = 0

  constructor(parts: InboxParts) {
    this.#parts = parts
    this.#bounds = parts.bounds ?? BOUNDS
  }

  /** Begins to keep a message; undefined when its return path is not one of this service. */
  begin({ returnPath, recipients }: { returnPath: string; recipients: string[] }): Arrival | undefined {
    const messageId = this.#parts.messageIdOf(returnPath)
    return messageId === undefined ? undefined : this.#arrival(messageId, recipients)
  }

  /** The messages, the newest first. */
  messages(): InboxMessage[] {
    return [...this.#kept.values()].reverse()
  }

  delete(ids: readonly string[]): void {
    for (const id of ids) {
      const message = this.#kept.get(id)
      if (message) this.#forget(message)
    }
  }

  #arrival(messageId: string, recipients: string[]): Arrival {
    let pieces: Buffer[] | undefined = []
    let arrived = 0
    const drop = () => {
      if (pieces) this.#bytes -= arrived
      pieces = undefined
    }
    return {
      add: (piece) => {
        if (!pieces) return
        pieces.push(piece)
        arrived += piece.length
        this.#bytes += piece.length
        this.#makeRoom()
        if (this.#bytes > this.#bounds.bytes) drop()
      },
      keep: () => {
        if (!pieces) return
        const id = this.#parts.newId()
        this.#kept.set(id, { id, messageId, recipients, source: Buffer.concat(pieces) })
        pieces = undefined
        this.#makeRoom()
      },
      drop,
    }
  }

  #makeRoom(): void {
    for (const oldest of this.#kept.values()) {
      if (this.#kept.size <= this.#bounds.messages && this.#bytes <= this.#bounds.bytes) return
      this.#forget(oldest)
    }
  }

  #forget({ id, source }: InboxMessage): void {
    if (this.#kept.delete(id)) this.#bytes -= source.length
  }
}
