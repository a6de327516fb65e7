import type { ContextValues } from '@connectrpc/connect'
import { callerKey, remoteAddressKey } from '../caller.ts'
import type { Actor, Author } from './record.ts'

/** The author of the changes that a call makes: the person or the API key that calls. */
export function authorOf(values: ContextValues): Author {
  const { accountId, keyId, person } = values.get(callerKey)!
  const actor: Actor = person
    ? { kind: 'person', id: person.personId, email: person.email }
    : { kind: 'api_key', id: keyId! }
  return { accountId, actor, remoteAddress: values.get(remoteAddressKey) || undefined }
}
