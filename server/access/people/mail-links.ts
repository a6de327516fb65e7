import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Sealer } from '../../db/encryption.ts'
import { bytesOfId, idOfBytes } from '../../db/ids.ts'

// The links that only a mail contains. A link names a row and proves it with a code, so no token is stored, and a mail
// that is sent again after a crash has the same link.

/** `reset`: the id is that of a notice. `invitation`: that of an invitation. */
export type LinkPurpose = 'reset' | 'invitation'

export interface LinkTokens {
  tokenOf(id: string): string
  /** Returns the id (UUID); undefined for a token that this service did not make. */
  read(token: string): string | undefined
}

const ID_BYTES = 16
const CODE_BYTES = 32

export function createLinkTokens(sealer: Sealer, purpose: LinkPurpose): LinkTokens {
  const keys = sealer.deriveKeys(`link of a mail: ${purpose}`)
  const codeOf = (key: Buffer, id: Buffer) => createHmac('sha256', key).update(id).digest()
  return {
    tokenOf(id) {
      const bytes = bytesOfId(id)
      return Buffer.concat([bytes, codeOf(keys[0], bytes)]).toString('base64url')
    },
    read(token) {
      const bytes = Buffer.from(token, 'base64url')
      if (bytes.length !== ID_BYTES + CODE_BYTES || bytes.toString('base64url') !== token) return undefined
      const id = bytes.subarray(0, ID_BYTES)
      if (!keys.some((key) => timingSafeEqual(codeOf(key, id), bytes.subarray(ID_BYTES)))) return undefined
      return idOfBytes(id)
    },
  }
}
