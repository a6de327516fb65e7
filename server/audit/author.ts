import type { ContextValues } from '@connectrpc/connect'
import { callerKey, remoteAddressKey } from '../caller.ts'
import type { Author } from './record.ts'

/** The author of the changes that a call makes: its caller. */
export function authorOf(values: ContextValues): Author {
  const { accountId, keyId } = values.get(callerKey)!
  return { accountId, actor: { kind: 'api_key', id: keyId }, remoteAddress: values.get(remoteAddressKey) || undefined }
}
