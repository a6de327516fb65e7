import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import { itemFaultsKey } from '../caller.ts'
import { NoAnswer, reasonOf } from '../errors.ts'
import { callKey, LEFT, shown } from './call.ts'
import { refusal } from './faults.ts'
import { textFaults } from './text.ts'

type Request = Parameters<ReturnType<Interceptor>>[0]

/** Outermost: whatever is thrown becomes an error the caller may see, and its cause a line in the log. */
export const errors: Interceptor = (next) => async (request) => {
  const call = request.contextValues.get(callKey)!
  // Work is begun for nobody: a thousand requests can be cancelled in one packet.
  if (call.left) throw LEFT
  try {
    const response = await next(request)
    return response.stream ? { ...response, message: relayed(response.message, request) } : response
  } catch (error) {
    throw seen(error, request)
  }
}

/** What the caller of a request may see of an error. */
function seen(error: unknown, { contextValues, signal, stream }: Request): unknown {
  // The caller's own deadline is the caller's to hear of, whatever the work that it ended says.
  if (isDeadline(signal.reason) && !(error instanceof NoAnswer)) return signal.reason
  if (signal.aborted && error === signal.reason) return error
  // So is what the protocol library says of the messages of a stream: it has no word yet, and `nameFaults` gives it one.
  if (stream && error instanceof ConnectError && !reasonOf(error)) return error
  return shown(error, contextValues.get(callKey)!)
}

const isDeadline = (reason: unknown) => reason instanceof ConnectError && reason.code === Code.DeadlineExceeded

/** A stream fails while it is read, after its call has returned. */
async function* relayed<Message>(messages: AsyncIterable<Message>, request: Request) {
  try {
    yield* messages
  } catch (error) {
    throw seen(error, request)
  }
}

/** Refuses text that no database and no mail can hold. */
export const text: Interceptor = (next) => (request) => {
  if (request.stream) return next(request)
  const faults = textFaults(request.method.input, request.message)
  const { items } = faults
  if (items.size > 0) {
    const known = request.contextValues.get(itemFaultsKey)
    request.contextValues.set(itemFaultsKey, new Map([...items, ...known]))
  }
  if (faults.fields.length === 0) return next(request)
  throw refusal(faults)
}
