import { type DescMessage, type Message, type MessageShape, toBinary } from '@bufbuild/protobuf'

/**
 * The bytes of a request. Equal requests have equal bytes: the entries of a map have no order of their own, and some
 * clients write them in another order each time.
 */
export function requestBytes<Desc extends DescMessage>(desc: Desc, request: MessageShape<Desc>): Uint8Array {
  return toBinary(desc, inOrder(desc, request) as MessageShape<Desc>)
}

/** The message with the entries of its maps in the order of their keys. */
function inOrder(desc: DescMessage, message: Message): Message {
  const ordered = { ...message } as Message & Record<string, unknown>
  for (const { fieldKind, localName, message: inner } of desc.fields) {
    const value = ordered[localName]
    if (value === undefined) continue
    if (fieldKind === 'map') ordered[localName] = sorted(value as Record<string, unknown>)
    else if (fieldKind === 'list' && inner) ordered[localName] = (value as Message[]).map((one) => inOrder(inner, one))
    else if (inner) ordered[localName] = inOrder(inner, value as Message)
  }
  return ordered
}

const sorted = (entries: Record<string, unknown>) =>
  Object.fromEntries(
    Object.keys(entries)
      .sort()
      .map((key) => [key, entries[key]]),
  )
