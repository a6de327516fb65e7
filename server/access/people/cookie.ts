import { createHmac, timingSafeEqual } from 'node:crypto'

/** How long a session lasts without use. Each day of use extends it. */
export const SESSION_DAYS = 30

/** better-auth puts this in front of the names of all its cookies. */
export const COOKIE_PREFIX = 'verdict'

export interface SessionCookie {
  /** Whether a Cookie header holds the cookie, valid or not. */
  isIn(header: string): boolean
  /** The session's token in a Cookie header; undefined when there is none, or it was not signed here. */
  read(header: string | undefined): string | undefined
  /** `name=value` for a token, signed with the first key. */
  pair(token: string): string
  /**
   * The Cookie header for better-auth, with this cookie and that of a sign-in before its second step. It reads further
   * ones: one of them skips the second factor. They are signed by the first key, the only one that it verifies with.
   */
  forSignIn(header: string | undefined): string | undefined
  /** The Set-Cookie header of a sign-in that waits for its second step. */
  halfway(identifier: string, seconds: number): string
  /** The Set-Cookie header that keeps the cookie for another 30 days. */
  renewal(token: string): string
}

interface Options {
  /** The first signs, all verify: see `signingKeys`. */
  keys: readonly [string, ...string[]]
  /** Whether browsers send the cookie over https only. */
  secure: boolean
}

/**
 * The cookies that better-auth writes: a token and its HMAC-SHA-256 in base64, after a dot, percent-encoded. The gate
 * reads the session's without loading better-auth, and without a query for an invented token.
 */
export function createSessionCookie({ keys, secure }: Options): SessionCookie {
  const named = (name: string) => signedCookie(`${secure ? '__Secure-' : ''}${COOKIE_PREFIX}.${name}`, keys)
  const session = named('session_token')
  const halfway = named('two_factor')
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  return {
    ...session,
    forSignIn(header) {
      const pairs = [session, halfway].flatMap(({ read, pair }) => {
        const token = read(header)
        return token === undefined ? [] : [pair(token)]
      })
      return pairs.join('; ') || undefined
    },
    halfway: (identifier, seconds) => `${halfway.pair(identifier)}; Max-Age=${seconds}; ${attributes}`,
    renewal: (token) => `${session.pair(token)}; Max-Age=${SESSION_DAYS * 86_400}; ${attributes}`,
  }
}

function signedCookie(
  name: string,
  keys: readonly [string, ...string[]],
): Pick<SessionCookie, 'isIn' | 'read' | 'pair'> {
  const pattern = new RegExp(`(?:^|; *)${name.replaceAll('.', '\\.')}=([^;]{1,500})`)
  return {
    isIn: (header) => pattern.test(header),
    read(header = '') {
      const value = decodedValue(pattern.exec(header)?.[1] ?? '')
      const dot = value.lastIndexOf('.')
      const [token, signed] = [value.slice(0, dot), Buffer.from(value.slice(dot + 1))]
      const isOurs = keys.some((key) => {
        const expected = Buffer.from(signature(token, key))
        return signed.length === expected.length && timingSafeEqual(signed, expected)
      })
      return dot > 0 && isOurs ? token : undefined
    },
    pair: (token) => `${name}=${encodeURIComponent(`${token}.${signature(token, keys[0])}`)}`,
  }
}

const signature = (token: string, key: string) => createHmac('sha256', key).update(token).digest('base64')

function decodedValue(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
