import type { Sealer } from '../../../db/encryption.ts'
import { COOKIE_PREFIX } from '../cookie.ts'
import type { OidcRequest } from './issuer.ts'

/** A request to the issuer, with what the person wants of it. Only the browser that began it can end it. */
export interface BegunRequest extends OidcRequest {
  purpose: Purpose
  /** The session that began it; absent for `sign-in`. */
  sessionId?: string
  /** The token of the invitation to accept. */
  invitation?: string
  /** The page to go to in the end. */
  back?: string
}

/** Signs in or accepts invitations; links the identity to the person; confirms who the person is. */
export const PURPOSES = ['sign-in', 'link', 'confirm'] as const
export type Purpose = (typeof PURPOSES)[number]

/** For signing in at the issuer. */
const REQUEST_SECONDS = 600

const PATH = '/api/auth/oidc'
const PLACE = { table: 'cookie', column: 'oidc', id: 'request' }

export interface RequestCookie {
  /** The Set-Cookie header that keeps a request. */
  write(request: BegunRequest): string
  /** The request in a Cookie header; undefined when there is none, it was not sealed here, or it is too old. */
  read(header: string | undefined): BegunRequest | undefined
  /** The Set-Cookie header that forgets the request. */
  clear(): string
}

/** Keeps the request in the browser, sealed: any process can end it, and no caller fills a table with it. */
export function createRequestCookie({ sealer, secure }: { sealer: Sealer; secure: boolean }): RequestCookie {
  const name = `${secure ? '__Secure-' : ''}${COOKIE_PREFIX}.oidc`
  const pattern = new RegExp(`(?:^|; *)${name.replaceAll('.', '\\.')}=([A-Za-z0-9_-]{1,8000})(?:;|$)`)
  const attributes = `Path=${PATH}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  return {
    write(request) {
      const sealed = sealer.seal(Buffer.from(JSON.stringify(request)), PLACE).toString('base64url')
      return `${name}=${sealed}; Max-Age=${REQUEST_SECONDS}; ${attributes}`
    },
    read(header = '') {
      const sealed = pattern.exec(header)?.[1]
      if (sealed === undefined) return undefined
      const request = opened(sealer, sealed)
      return request && Date.now() - request.startedAtMs < REQUEST_SECONDS * 1_000 ? request : undefined
    },
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  }
}

function opened(sealer: Sealer, sealed: string): BegunRequest | undefined {
  try {
    return JSON.parse(sealer.open(Buffer.from(sealed, 'base64url'), PLACE).toString())
  } catch {
    return undefined
  }
}
