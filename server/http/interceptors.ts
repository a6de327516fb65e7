import type { Message } from '@bufbuild/protobuf'
import { Code, ConnectError, type ContextValues, type Interceptor } from '@connectrpc/connect'
import { onBehalfOf } from '../async/on-behalf.ts'
import { itemFaultsKey } from '../caller.ts'
import { OutcomeUnknown, reasonOf } from '../errors.ts'
import { holderOf } from './body/body.ts'
import { refuseContents } from './body/deferred-refusal.ts'
import { refusal } from './body/faults.ts'
import { textFaults } from './body/text.ts'
import { callOf, LEFT, shown } from './call.ts'

type RpcRequest = Parameters<ReturnType<Interceptor>>[0]

/**
 * The outermost interceptor: turns everything thrown into an error that the caller may see, and logs its cause.
 * `onRefused` gets the request.
 */
export function showErrors(onRefused?: (values: ContextValues, message: Message) => void): Interceptor {
  return (next) => async (request) => {
    const call = callOf(request.contextValues)
    // No work starts for a caller that has left: one packet can cancel a thousand requests.
    if (call.left) throw LEFT
    try {
      const response = await next(request)
      return response.stream ? { ...response, message: relayed(response.message, request) } : response
    } catch (error) {
      if (!request.stream) onRefused?.(request.contextValues, request.message)
      throw visibleError(error, request)
    }
  }
}

/** The part of an error that the caller may see. */
function visibleError(error: unknown, { contextValues, signal, stream }: RpcRequest): unknown {
  // A deadline that has passed is reported as such, whatever the work that it ended reports.
  if (isDeadline(signal.reason) && !(error instanceof OutcomeUnknown)) return signal.reason
  if (signal.aborted && error === signal.reason) return error
  // An error of the protocol library about a stream's messages has no error code yet: `nameFaults` adds it.
  if (stream && error instanceof ConnectError && !reasonOf(error)) return error
  return shown(error, callOf(contextValues))
}

const isDeadline = (reason: unknown) => reason instanceof ConnectError && reason.code === Code.DeadlineExceeded

/** A stream can fail while it is read, after its call has returned. */
async function* relayed<Message>(messages: AsyncIterable<Message>, request: RpcRequest) {
  try {
    yield* messages
  } catch (error) {
    throw visibleError(error, request)
  }
}

/** Lets the transactions of a call count as its caller's. */
export const forCaller: Interceptor = (next) => (request) =>
  onBehalfOf(holderOf(callOf(request.contextValues)), () => next(request))

/** Refuses text that could not be stored or passed on. */
export const refuseUnfitText: Interceptor = (next) => (request) => {
  if (request.stream) {
    // A call that only returns a stream has one request message.
    const isSingle = request.method.methodKind === 'server_streaming'
    return next(isSingle ? { ...request, message: withFitText(request.message, request) } : request)
  }
  refuseUnfit(request.message, request)
  return next(request)
}

async function* withFitText(messages: AsyncIterable<Message>, request: RpcRequest) {
  for await (const message of messages) {
    refuseUnfit(message, request)
    yield message
  }
}

function refuseUnfit(message: Message, { method, contextValues, header }: RpcRequest): void {
  const faults = textFaults(method.input, message)
  const { items } = faults
  if (items.size > 0) {
    const readerFaults = contextValues.get(itemFaultsKey)
    contextValues.set(itemFaultsKey, new Map([...items, ...readerFaults]))
  }
  if (faults.fields.length > 0) refuseContents(refusal(faults), method, contextValues, header.has('idempotency-key'))
}
