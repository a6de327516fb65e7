import { type BodyLimits, bodyChunks, readBody } from '../body/body.ts'
import { type Call, shown } from '../call.ts'
import { parseJson } from '../rest/json-text.ts'
import { checkProtobuf } from './protobuf-bounds.ts'

export const ENVELOPE_BYTES = 5

/** An unknown field comes from a newer client. Nothing reads it, and it would take ten times its size. */
export const BINARY_OPTIONS = { readUnknownFields: false }

/**
 * The body of an RPC, under the same limits as on REST. An error made by `fail` reaches the caller in its protocol.
 * When a call has a single message, it is checked before the library reads it.
 */
export async function* requestBody(call: Call, limits: BodyLimits): AsyncGenerator<Uint8Array> {
  const { methodKind } = call.method!
  const isSingle = methodKind === 'unary' || methodKind === 'server_streaming'
  try {
    if (isSingle) yield checkMessage(call, await readBody(call, limits, isEnveloped(call) ? envelopeSize : undefined))
    else yield* bodyChunks(call, limits, { endless: true })
  } catch (error) {
    throw shown(error, call)
  }
}

const isEnveloped = ({ protocol, method }: Call) => protocol !== 'connect' || method!.methodKind !== 'unary'

/** Returns the body if its message holds no more than a request may. */
function checkMessage(call: Call, body: Buffer): Buffer {
  const message = isEnveloped(call) ? body.subarray(ENVELOPE_BYTES) : body
  if (isJson(call.raw.headers['content-type'])) parseJson(message)
  else checkProtobuf(call.method!.input, message)
  return body
}

/** `application/json`, `application/grpc+json` and others. The only other format of the protocols is Protobuf. */
const isJson = (type = '') => /\bjson\b/i.test(type)

/** gRPC writes the size of a message in front of it. */
export function envelopeSize(first: Buffer): number | undefined {
  return first.length < ENVELOPE_BYTES ? undefined : first.readUInt32BE(1) + ENVELOPE_BYTES
}
