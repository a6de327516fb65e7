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
  /** A Cookie header with the cookie signed by the first key, the only one that better-auth verifies with. */
  resigned(header: string | undefined): string | undefined
  /** The Set-Cookie header that keeps the cookie for another 30 days. */
  renewal(token: string): string
}

interface Options {
  /** The first signs, all verify: see `signingKeys`. */
  keys: readonly string[]
  /** Whether browsers send the cookie over https only. */
  secure: boolean
}

/**
 * The cookie that better-auth writes at a sign-in: the session's token and its HMAC-SHA-256 in base64, after a dot,
 * percent-encoded. The gate reads it without loading better-auth, and without a query for an invented token.
 */
export function sessionCookie({ keys, secure }: Options): SessionCookie {
  const name = `${secure ? '__Secure-' : ''}${COOKIE_PREFIX}.session_token`
  const pattern = new RegExp(`(?:^|; *)${name.replaceAll('.', '\\.')}=([^;]{1,500})`)
  const pair = (token: string) => `${name}=${encodeURIComponent(`${token}.${signature(token, keys[0]!)}`)}`
  const read = (header = ''): string | undefined => {
    const value = decoded(pattern.exec(header)?.[1] ?? '')
    const dot = value.lastIndexOf('.')
    const [token, signed] = [value.slice(0, dot), Buffer.from(value.slice(dot + 1))]
    const isOurs = keys.some((key) => {
      const expected = Buffer.from(signature(token, key))
      return signed.length === expected.length && timingSafeEqual(signed, expected)
    })
    return dot > 0 && isOurs ? token : undefined
  }
  return {
    isIn: (header) => pattern.test(header),
    read,
    pair,
    resigned(header) {
      const token = read(header)
      return token === undefined ? header : header!.replace(pattern, `; ${pair(token)}`).replace(/^; /, '')
    },
    renewal(token) {
      const maxAge = SESSION_DAYS * 86_400
      return `${pair(token)}; Max-Age=${maxAge}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
    },
  }
}

const signature = (token: string, key: string) => createHmac('sha256', key).update(token).digest('base64')

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
