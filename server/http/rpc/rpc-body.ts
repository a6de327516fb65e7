import { type BodyLimits, bodyChunks, holderOf, readBody } from '../body/body.ts'
import { unpack } from '../body/gunzip.ts'
import { type Call, shown } from '../call.ts'
import { readJsonText } from '../rest/json-text.ts'
import { checkProtobuf } from './protobuf-bounds.ts'

export const ENVELOPE_BYTES = 5

/** An unknown field comes from a newer client. Nothing reads it, and it would take ten times its size. */
export const BINARY_OPTIONS = { readUnknownFields: false }

/**
 * The body of an RPC, under the same limits as on REST. An error made by `fail` reaches the caller in its protocol.
 * When a call has a single message, it is unpacked and checked before the library reads it.
 */
export async function* requestBody(call: Call, limits: BodyLimits): AsyncGenerator<Uint8Array> {
  const { methodKind } = call.method!
  const isSingle = methodKind === 'unary' || methodKind === 'server_streaming'
  try {
    if (!isSingle) yield* bodyChunks(call, limits, { endless: true })
    else if (isEnveloped(call)) yield* onlyEnvelope(call, await readBody(call, limits, envelopeSize), limits)
    else yield await checkMessage(call, await onlyContent(call, limits))
  } catch (error) {
    throw shown(error, call)
  }
}

const isEnveloped = ({ protocol, method }: Call) => protocol !== 'connect' || method?.methodKind !== 'unary'

/** The body of a unary call of Connect, which is its message. */
async function onlyContent(call: Call, limits: BodyLimits): Promise<Buffer> {
  const body = await readBody(call, limits)
  return encodingOf(call) === 'gzip' ? unpack(call, body, limits) : body
}

/** The one message of a call, without compression. The library refuses a body that is not complete. */
async function* onlyEnvelope(call: Call, body: Buffer, limits: BodyLimits): AsyncGenerator<Uint8Array> {
  const content = body.subarray(ENVELOPE_BYTES)
  const [flags = 0] = body
  const isPacked = (flags & COMPRESSED) !== 0 && encodingOf(call) === 'gzip' && body.length === envelopeSize(body)
  if (!isPacked) {
    await checkMessage(call, content)
    yield body
    return
  }
  const message = await checkMessage(call, await unpack(call, content, limits))
  const head = Buffer.from(body.subarray(0, ENVELOPE_BYTES))
  head[0] = flags & ~COMPRESSED
  head.writeUInt32BE(message.length, 1)
  yield head
  yield message
}

/** The flag of an envelope whose message is compressed. */
export const COMPRESSED = 1

/** How the messages of a call may be compressed. */
export function encodingOf({ protocol, method, raw: { headers } }: Call): string {
  if (protocol !== 'connect') return String(headers['grpc-encoding'] ?? 'identity')
  const isUnary = method?.methodKind === 'unary'
  return String(headers[isUnary ? 'content-encoding' : 'connect-content-encoding'] ?? 'identity').toLowerCase()
}

/** Returns the message if it holds no more than a request may. */
async function checkMessage(call: Call, message: Buffer): Promise<Buffer> {
  if (isJson(call.raw.headers['content-type'])) await readJsonText(message, holderOf(call))
  else checkProtobuf(call.method!.input, message)
  return message
}

/** `application/json`, `application/grpc+json` and others. The only other format of the protocols is Protobuf. */
const isJson = (type = '') => /\bjson\b/i.test(type)

/** gRPC writes the size of a message in front of it. */
export function envelopeSize(first: Buffer): number | undefined {
  return first.length < ENVELOPE_BYTES ? undefined : first.readUInt32BE(1) + ENVELOPE_BYTES
}
