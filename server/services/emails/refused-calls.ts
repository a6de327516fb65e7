import { type DescMethod, isMessage, type Message } from '@bufbuild/protobuf'
import type { ConnectError, ContextValues } from '@connectrpc/connect'
import { EmailService, SendRequestSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import { SANDBOX } from '../../../mail/mime/raw/service-fields.ts'
import { callerKey, partiesKey } from '../../caller.ts'
import { PUBLIC_ERRORS, reasonOf } from '../../errors.ts'
import { readTrueOrFalse } from '../../sending/dry-run.ts'
import { partiesOf, type RefusedSends, type SendProtocol } from '../../sending/refused-sends.ts'

interface EndedCall {
  id: string
  protocol: SendProtocol
  method: DescMethod | undefined
  values: ContextValues
  raw: { headers: { [name: string]: string | string[] | undefined } }
  /** The error that the caller got. */
  error: ConnectError | undefined
}

const SENDS: readonly (DescMethod | undefined)[] = [EmailService.method.send, EmailService.method.sendBatch]

/** Notes a call that ended with an error in the place of an email. Dry runs are not noted. */
export function noteRefusedCall(refusedSends: Pick<RefusedSends, 'note'>, call: EndedCall): void {
  const { id, protocol, method, values, raw, error } = call
  const caller = values.get(callerKey)
  if (!error || !caller?.accountId || caller.test || !SENDS.includes(method)) return
  if (!Object.hasOwn(PUBLIC_ERRORS, reasonOf(error) ?? '') || readTrueOrFalse(String(raw.headers[SANDBOX]))) return
  const { accountId, keyId } = caller
  refusedSends.note({ accountId, keyId, requestId: id, protocol, error, parties: values.get(partiesKey) })
}

/** Notes who a refused send is from and to. Its request is free as soon as the caller gets the error. */
export function noteParties(values: ContextValues, message: Message): void {
  if (isMessage(message, SendRequestSchema) && !values.get(partiesKey)) values.set(partiesKey, partiesOf(message))
}
