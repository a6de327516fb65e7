import { Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client'
import type { TemporalConfig } from '../server/config/config.ts'

/** No call of ours waits longer: Temporal may be away, or there and silent. */
export const CALL_MS = 5_000

/** A connection for calls alone. It is made by the first call and again after a loss; until then nothing is contacted. */
export function lazyConnection(temporal: TemporalConfig): Connection {
  return Connection.lazy({
    ...connectionOptions(temporal),
    connectTimeout: CALL_MS,
    // Tries of one call, two seconds in all: left alone, it would try for longer than a call may take.
    interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: 4 }))],
    // Left alone, it would wait up to two minutes before it looks again for a server that went away.
    channelArgs: { 'grpc.initial_reconnect_backoff_ms': 500, 'grpc.max_reconnect_backoff_ms': 5_000 },
  })
}

/** The part of the options that connections for calls and those of workers share. */
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
