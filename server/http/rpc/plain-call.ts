import type { Call } from '../call.ts'
import { encodingOf } from './rpc-body.ts'

const PROTOBUF_TYPES: { [protocol in Call['protocol']]?: RegExp } = {
  grpc: /^application\/grpc(\+proto)?$/i,
  'grpc-web': /^application\/grpc-web(\+proto)?$/i,
  connect: /^application\/connect\+proto$/i,
}

/**
 * Whether a call is as most clients speak its protocol: Protobuf in envelopes, packed by gzip or not at all. gRPC needs
 * HTTP/2.
 */
export function isPlainCall(call: Call): boolean {
  const { protocol, raw } = call
  const isKnown = ['identity', 'gzip'].includes(encodingOf(call))
  const hasTrailers = protocol !== 'grpc' || 'stream' in raw
  return isKnown && hasTrailers && PROTOBUF_TYPES[protocol]?.test(raw.headers['content-type'] ?? '') === true
}

export const isPlainGrpc = (call: Call): boolean => call.protocol === 'grpc' && isPlainCall(call)
