import { ERRORS } from '../../errors.ts'
import type { Definition } from '../instruments.ts'

const CODES = ['ok', 'client_left', 'no_answer', ...Object.keys(ERRORS)]

/** Calls of the API, on every protocol. */
export const CALLS = {
  ready: {
    kind: 'gauge',
    name: 'verdict_ready',
    help: '1 while /readyz of this process returns 200, 0 while it does not.',
    process: 'api',
  },
  calls: {
    kind: 'counter',
    name: 'verdict_calls_total',
    help: 'Calls that ended, by service and method, protocol and error code (ok without an error).',
    labels: { rpc: 150, protocol: ['rest', 'connect', 'grpc', 'grpc-web'], code: CODES },
    process: 'api',
  },
  callSeconds: {
    kind: 'histogram',
    name: 'verdict_call_duration_seconds',
    help: 'Duration of a call, from its head to the end of its response, by protocol.',
    labels: { protocol: ['rest', 'connect', 'grpc', 'grpc-web'] },
    bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    process: 'api',
  },
  callsInFlight: {
    kind: 'gauge',
    name: 'verdict_calls_in_flight',
    help: 'Calls without a finished response.',
    process: 'api',
  },
  bodyBytes: {
    kind: 'gauge',
    name: 'verdict_body_budget_bytes',
    help: 'Memory for large or for small request bodies in flight, whichever is fuller: in use, and the limit.',
    labels: { state: ['used', 'limit'] },
    process: 'api',
  },
  httpConnections: {
    kind: 'gauge',
    name: 'verdict_http_connections',
    help: 'Open connections of callers.',
    process: 'api',
  },
} as const satisfies Record<string, Definition>
