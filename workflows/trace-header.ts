import type { Payload, WorkflowInterceptorsFactory } from '@temporalio/workflow'

/** The header in which Temporal's interceptors of clients and activities keep the trace. */
const TRACE_HEADER = '_tracer-data'

/**
 * Passes the trace of a workflow on to its activities and to the run that continues it. It makes no spans: those would
 * take numbers from the workflow's `Math.random`, and a history that was begun without them could not be replayed (ADR
 * 101). Without a trace it changes nothing.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  let header: Payload | undefined
  const traced = <Input extends { headers: Record<string, Payload> }>(input: Input): Input =>
    header === undefined ? input : { ...input, headers: { ...input.headers, [TRACE_HEADER]: header } }
  return {
    inbound: [
      {
        execute(input, next) {
          header = input.headers[TRACE_HEADER]
          return next(input)
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(traced(input)),
        continueAsNew: (input, next) => next(traced(input)),
      },
    ],
  }
}
