import { randomUUID } from 'node:crypto'
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import { SANDBOX } from '../../../mail/mime/raw/service-fields.ts'
import { accountOf, callerOf, refusalKey } from '../../caller.ts'
import { fail } from '../../errors.ts'
import { readTrueOrFalse, SANDBOX_FAULT } from '../../sending/dry-run.ts'
import { hashOf, type IdempotencyKey, keyFault, keyScope } from '../../sending/idempotency-key.ts'
import type { SharedResponse } from '../../sending/sharing.ts'

// The headers of every call that sends, in its request and in its response.

const KEY = 'idempotency-key'

/**
 * Reads `X-Service-Sandbox`: `true` or `false` in any case. Refuses anything else, also a header that seems to mean
 * this one or `Idempotency-Key`: a typo must neither send nor send twice.
 */
export function readSandbox(headers: Headers): boolean {
  for (const name of headers.keys()) refuseForeign(name, headers)
  const sandbox = readTrueOrFalse(headers.get(SANDBOX) ?? 'false')
  if (sandbox !== undefined) return sandbox
  throw refuseHeader('X-Service-Sandbox', SANDBOX_FAULT)
}

/** Whether nothing may be sent, because of the header or because of a test key. */
export function isDryRun({ requestHeader, values }: HandlerContext): boolean {
  return readSandbox(requestHeader) || callerOf({ values }).test
}

/** Reads `Idempotency-Key`, in the scope of the called method. */
export function readKey<Desc extends DescMessage>(
  { requestHeader, method, values }: HandlerContext,
  sandbox: boolean,
  desc: Desc,
  request: MessageShape<Desc>,
): IdempotencyKey | undefined {
  const key = requestHeader.get(KEY)
  if (key === null) return undefined
  const fault = keyFault(key)
  if (fault) throw refuseHeader('Idempotency-Key', fault)
  const accountId = accountOf({ values })
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

function refuseForeign(name: string, headers: Headers): void {
  if (name === SANDBOX || name === KEY) return
  if (name.includes('sandbox')) throw refuseHeader(name, 'is unknown. Send X-Service-Sandbox')
  // Beside our own key that of a library or a proxy means nothing.
  if (name.includes('idempotency') && !headers.has(KEY)) throw refuseHeader(name, 'is unknown. Send Idempotency-Key')
}

function refuseHeader(field: string, message: string) {
  return fail('invalid_payload', `The header ${field} ${message}.`, { fields: [{ field, message }] })
}
