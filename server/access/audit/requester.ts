import type { ContextValues } from '@connectrpc/connect'
import { callerOf, remoteAddressKey, rightKey } from '../../caller.ts'
import type { Requester } from './change-as.ts'
import type { Actor } from './record-change.ts'

/** The requester of the changes that a call makes: the person or the API key that calls, with its right to the call. */
export function requesterOf(values: ContextValues): Requester {
  const { accountId, keyId, person } = callerOf({ values })
  const actor: Actor = person
    ? { kind: 'person', id: person.personId, email: person.email }
    : { kind: 'api_key', id: keyId! }
  const right = values.get(rightKey)
  if (!right) throw new Error('the gate gave this call no right')
  return { accountId, actor, remoteAddress: values.get(remoteAddressKey) || undefined, right }
}
