import { callerKey, logFieldsKey, traceKey } from '../caller.ts'
import { readTraceparent, traceIdOf } from '../telemetry/traceparent.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { Admit } from './admission.ts'
import type { Call } from './call.ts'

/**
 * Begins the span of each call that is admitted. Callers without a key record nothing here, whatever their
 * `traceparent` asks for.
 */
export function traced(tracing: Tracing, admit: Admit): Admit {
  return async (call) => {
    await admit(call)
    const { raw, startedAt, method, values } = call
    if (values.get(callerKey) === undefined) return
    const parent = readTraceparent(raw.headers.traceparent)
    if (parent === undefined && !tracing.isOn) return
    const name = method ? `${method.parent.typeName}/${method.name}` : (raw.method ?? '')
    values.set(traceKey, tracing.begin(name, { kind: 'server', parent, startMs: startedAt }))
  }
}

/** Ends the span of a call. `responded` is false for a call whose response did not go out. */
export function endSpan({ values, raw, path, protocol, code, response }: Call, responded: boolean): void {
  const trace = values.get(traceKey)
  if (!trace?.isRecorded) return
  const { message_id, outcome, reason, in_doubt } = values.get(logFieldsKey) as Record<string, string | undefined>
  trace.set({
    'http.request.method': raw.method,
    'http.route': path,
    'http.response.status_code': responded ? response.statusCode : undefined,
    'verdict.protocol': protocol,
    'verdict.code': code,
    'verdict.message_id': message_id,
    'verdict.outcome': outcome,
    'verdict.reason': reason,
    'verdict.in_doubt': in_doubt,
  })
  trace.end(isFault(code) ? code : undefined)
}

/** Only a fault of the service makes the span an error; a refused request is no fault. */
const isFault = (code: string) => code === 'transient_failure' || code === 'no_answer'

/** The trace of a call, for the log: also of one that was refused before its span began. */
export function traceIdOfCall({ values, raw }: Call): string | undefined {
  const traceparent = values.get(traceKey)?.traceparent ?? readTraceparent(raw.headers.traceparent)
  return traceparent && traceIdOf(traceparent)
}
