import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'

/** The transports of all protocols, for tests that run once over each. */
export const TRANSPORTS = {
  gRPC: createGrpcTransport,
  'gRPC-Web': createGrpcWebTransport,
  Connect: createConnectTransport,
}
export type Protocol = keyof typeof TRANSPORTS
export const PROTOCOLS = Object.keys(TRANSPORTS) as Protocol[]
