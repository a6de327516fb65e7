import type { Logger } from 'pino'
import { callerKey, logFieldsKey } from '../caller.ts'
import type { Call } from './call.ts'

/**
 * One line for each call, when it has ended. The lines of one turn of the event loop are written together: one by one, between
 * other work, each costs three times as much.
 */
export function createRequestLog(log: Logger): (call: Call, answered: boolean) => void {
  let waiting: [line: object, isFault: boolean][] = []

  function write(): void {
    const lines = waiting
    waiting = []
    for (const [line, isFault] of lines) {
      if (isFault) log.error(line, 'request')
      else log.info(line, 'request')
    }
  }

  return (call, answered) => {
    if (waiting.length === 0) setImmediate(write)
    waiting.push([lineOf(call, answered), call.code === 'transient_failure'])
  }
}

/** Nothing the caller wrote stands in it but a request id. */
function lineOf(
  { id, protocol, raw, path, method, response, code, startedAt, values }: Call,
  answered: boolean,
): object {
  const caller = values.get(callerKey)
  return {
    request_id: id,
    protocol,
    http_method: raw.method,
    path,
    rpc: method && `${method.parent.typeName}/${method.name}`,
    status: answered ? response.statusCode : undefined,
    code,
    duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
    account_id: caller?.accountId,
    key_id: caller?.keyId,
    ...values.get(logFieldsKey),
  }
}
