import { Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client'
import type { TemporalConfig } from '../server/config/config.ts'

/** The time limit of every call: Temporal may be away, or there and silent. */
export const CALL_MS = 5_000

/** A connection for calls only. The first call opens it, and the next call after a loss opens it again. */
export function lazyConnection(temporal: TemporalConfig): Connection {
  return Connection.lazy({
    ...connectionOptions(temporal),
    connectTimeout: CALL_MS,
    // A call that is refused at once is tried four times within a second. By default it would be tried for longer
    // than a call may take.
    interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: 4 }))],
    // By default it would wait up to two minutes before it looks again for a server that went away.
    channelArgs: { 'grpc.initial_reconnect_backoff_ms': 500, 'grpc.max_reconnect_backoff_ms': 5_000 },
  })
}

/** The options that connections for calls and connections of workers share. */
export function connectionOptions({ address, apiKey, tls }: TemporalConfig) {
  return {
    address,
    ...(apiKey === undefined ? {} : { apiKey }),
    tls: tls && {
      serverNameOverride: tls.serverName,
      serverRootCACertificate: tls.ca === undefined ? undefined : Buffer.from(tls.ca),
      clientCertPair: tls.client && { crt: Buffer.from(tls.client.cert), key: Buffer.from(tls.client.key) },
    },
  }
}
