import { randomUUID } from 'node:crypto'
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import { callerKey, refusalKey } from '../caller.ts'
import { fail } from '../errors.ts'
import { readTrueOrFalse, SANDBOX_FAULT } from '../sending/dry-run.ts'
import { hashOf, type IdempotencyKey, keyFault, keyScope } from '../sending/idempotency-key.ts'
import type { SharedResponse } from '../sending/sharing.ts'

// The headers of every call that sends, in its request and in its response.

/** Reads `X-Service-Sandbox`: `true` or `false` in any case. Refuses anything else: a typo must not send. */
export function readSandbox(headers: Headers): boolean {
  const sandbox = readTrueOrFalse(headers.get('x-service-sandbox') ?? 'false')
  if (sandbox !== undefined) return sandbox
  throw refuseHeader('X-Service-Sandbox', SANDBOX_FAULT)
}

/** Whether nothing may be sent, because of the header or because of a test key. */
export function isDryRun({ requestHeader, values }: HandlerContext): boolean {
  return readSandbox(requestHeader) || values.get(callerKey)!.test
}

/** Reads `Idempotency-Key`, in the scope of the called method. */
export function readKey<Desc extends DescMessage>(
  { requestHeader, method, values }: HandlerContext,
  sandbox: boolean,
  desc: Desc,
  request: MessageShape<Desc>,
): IdempotencyKey | undefined {
  const key = requestHeader.get('idempotency-key')
  if (key === null) return undefined
  const fault = keyFault(key)
  if (fault) throw refuseHeader('Idempotency-Key', fault)
  const { accountId } = values.get(callerKey)!
  // A request with a fault equals no other one, because its message lacks what could not be read.
  const requestHash = values.get(refusalKey) ? randomUUID() : hashOf(desc, request)
  return { accountId, scope: keyScope(method.localName, sandbox), key, requestHash }
}

/** Sets the headers of a response and returns its body. */
export function replayHeaders<Response>(
  { responseHeader }: HandlerContext,
  { response, replayed, mismatch }: SharedResponse<Response>,
): Response {
  if (replayed) responseHeader.set('Idempotent-Replayed', 'true')
  if (mismatch) responseHeader.set('Idempotency-Mismatch', 'body')
  return response
}

function refuseHeader(field: string, message: string) {
  return fail('invalid_payload', `The header ${field} ${message}.`, { fields: [{ field, message }] })
}
