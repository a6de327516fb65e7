import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'

const READ_MS = 15_000
const CHANGE_MS = 30_000
/** Calls that wait for other servers, or carry many rows. A send waits up to 120 seconds for its outcome. */
const LONG_MS = 130_000
const LONG = new Set([
  'Send',
  'AddPart',
  'StartReplay',
  'TestWebhook',
  'VerifyDomain',
  'RetryDispatch',
  'UndoImport',
  'Lift',
])

/** How long a call of this name may take, in milliseconds. */
export function timeLimitOf(method: string): number {
  if (LONG.has(method)) return LONG_MS
  return /^(Get|List|Count)/.test(method) ? READ_MS : CHANGE_MS
}

/** Ends calls that take too long. The time in which a person enters the password for a call does not count. */
export const timeLimit: Interceptor = (next) => async (request) => {
  const limit = AbortSignal.timeout(timeLimitOf(request.method.name))
  try {
    return await next({ ...request, signal: AbortSignal.any([request.signal, limit]) })
  } catch (error) {
    if (limit.aborted) throw new ConnectError('The server did not respond in time.', Code.DeadlineExceeded)
    throw error
  }
}
