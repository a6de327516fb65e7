import type { Logger } from 'pino'
import { callerKey, logFieldsKey } from '../caller.ts'
import type { Call } from './call.ts'
import { traceIdOfCall } from './request-span.ts'

/**
 * Logs one line for each call when it has ended. The lines of one turn of the event loop are written together: one by
 * one, between other work, each costs three times as much.
 */
export function createRequestLog(log: Logger): (call: Call, responded: boolean) => void {
  let pending: [line: object, isFault: boolean][] = []

  function write(): void {
    const lines = pending
    pending = []
    for (const [line, isFault] of lines) {
      if (isFault) log.error(line, 'request')
      else log.info(line, 'request')
    }
  }

  return (call, responded) => {
    if (pending.length === 0) setImmediate(write)
    pending.push([lineOf(call, responded), call.code === 'transient_failure'])
  }
}

/** The request id and the trace id are the only parts of the line that the caller may have written. */
function lineOf(call: Call, responded: boolean): object {
  const { id, protocol, raw, path, method, response, code, startedAt, values } = call
  const caller = values.get(callerKey)
  return {
    request_id: id,
    trace_id: traceIdOfCall(call),
    protocol,
    http_method: raw.method,
    path,
    rpc: method && `${method.parent.typeName}/${method.name}`,
    status: responded ? response.statusCode : undefined,
    code,
    duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
    account_id: caller?.accountId,
    key_id: caller?.keyId,
    person_id: caller?.person?.personId,
    ...values.get(logFieldsKey),
  }
}
