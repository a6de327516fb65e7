import { traceIdOf } from './traceparent.ts'

// What the code knows of traces. OpenTelemetry records them (recording.ts) and is loaded only where they are exported.

/** What a span says. Never an address, a subject, a key or a secret. */
export type Attributes = Record<string, string | number | boolean | string[] | undefined>

/** Where a request, a send or an attempt is in its trace. */
export interface Trace {
  /** The header value that passes the trace on. */
  traceparent: string
  traceId: string
  /** Whether this process records the span. If not, everything below but `step`'s work does nothing. */
  isRecorded: boolean
  /** Runs work in its own span, which ends with it. */
  step<T>(name: string, work: (step: Trace) => Promise<T>): Promise<T>
  /** Adds a span that is over. Times are on the clock of `performance.now()`. */
  add(name: string, fromMs: number, toMs: number, attributes: Attributes): void
  set(attributes: Attributes): void
  /** Ends the span. With `error`, a short code, it counts as failed. */
  end(error?: string): void
}

export interface Beginning {
  kind: 'server' | 'client' | 'internal'
  /** The `traceparent` that the span continues; without one a new trace begins. */
  parent?: string
  /** The `traceparent` of a span in another trace that caused this one. */
  link?: string
  /** On the clock of `performance.now()`; now by default. */
  startMs?: number
  attributes?: Attributes
}

/** The traces of a process, or of a thread of it. */
export interface Tracing {
  isOn: boolean
  /** Begins a span. Without tracing it passes on the `parent`, or the `link`; undefined when there is neither. */
  begin(name: string, beginning: Beginning): Trace | undefined
  /** Runs work whose calls of Temporal continue this `traceparent`. */
  within<T>(traceparent: string | undefined, work: () => T): T
  /** The `traceparent` of the activity that runs this code. */
  active(): string | undefined
  /** Exports what is left, for a limited time. */
  close(): Promise<void>
}

/** Without tracing a caller's trace is passed on as it came: to the log, to dispatches and to receivers of events. */
export const NO_TRACING: Tracing = {
  isOn: false,
  begin: (_name, { parent, link }) => passedOn(parent ?? link),
  within: (_traceparent, work) => work(),
  active: () => undefined,
  close: async () => {},
}

export function passedOn(traceparent: string): Trace
export function passedOn(traceparent: string | undefined): Trace | undefined
export function passedOn(traceparent: string | undefined): Trace | undefined {
  if (traceparent === undefined) return undefined
  const trace: Trace = {
    traceparent,
    traceId: traceIdOf(traceparent),
    isRecorded: false,
    step: (_name, work) => work(trace),
    add: () => {},
    set: () => {},
    end: () => {},
  }
  return trace
}

/** Runs work in its own span where the trace is recorded. */
export function step<T>(trace: Trace | undefined, name: string, work: (step?: Trace) => Promise<T>): Promise<T> {
  return trace?.isRecorded ? trace.step(name, work) : work(undefined)
}
