import type { SMTPServerDataStream } from 'smtp-server'
import { type DotReply, ownReply } from './dot-reply.ts'
import { createMailContent } from './mail-content.ts'
import { type FrontLimits, type FrontMail, type FrontParts, SHUTTING_DOWN } from './parts.ts'
import type { FrontShares } from './shares.ts'

/** A message this many times too large is cut off. A smaller one is read and refused at its end, as SMTP requires. */
const FAR_TOO_LARGE = 2
/** Each connection may always hold this much of a message. Beyond it, an account may take half of the memory. */
const ALWAYS_HELD = 64 * 1024

interface Reception {
  tooLarge(): void
  isClosing(): boolean
  /** Called when the final dot has arrived. */
  received(): void
}

/** Reads the content of a message and delivers it. */
export function createContentReceiver(
  { deliver }: FrontParts,
  { messageBytes }: FrontLimits,
  held: FrontShares['held'],
) {
  return async (
    stream: SMTPServerDataStream,
    { accountId, ...mail }: Omit<FrontMail, 'content'> & { accountId: string },
    { tooLarge, isClosing, received }: Reception,
  ): Promise<DotReply[] | undefined> => {
    /** A reply of our own is the same for all. */
    const toAll = (reply: DotReply) => (mail.isLmtp ? mail.recipients.map(() => reply) : [reply])
    let content: ReturnType<typeof createMailContent> | undefined = createMailContent()
    let bytes = 0
    const hold = (next: number) => {
      held.add(accountId, next - bytes)
      bytes = next
    }
    const hasRoom = (more: number) => (stream.byteLength ?? 0) <= ALWAYS_HELD || held.hasRoom(accountId, more)
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        if ((stream.byteLength ?? 0) > FAR_TOO_LARGE * messageBytes) tooLarge()
        if (stream.sizeExceeded || !hasRoom(piece.length)) content = undefined
        content?.add(piece)
        hold(content?.bytes() ?? 0)
      }
      received()
      if (stream.sizeExceeded) return toAll(ownReply(552, '5.3.4', `A message has at most ${messageBytes} bytes`))
      if (!content)
        return toAll(ownReply(452, '4.3.1', 'Too much mail at a time. Nothing was sent; it is safe to retry'))
      if (isClosing()) return [{ code: 421, lines: [SHUTTING_DOWN] }]
      return await deliver({ ...mail, content: content.end() })
    } catch {
      // The client left before its final dot.
      return undefined
    } finally {
      hold(0)
    }
  }
}
