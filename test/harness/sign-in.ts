import { createHmac } from 'node:crypto'

/** How a page calls `/api/auth`. */
export interface PageCall {
  url: string
  cookie?: string
  /** The address of the browser. The server must trust this machine as a proxy. */
  from?: string
  headers?: Record<string, string>
}

/** A page's request below /api/auth. A text is sent as it is. */
export async function callSignIn(
  path: string,
  body: object | string,
  { url, cookie, from = '192.0.2.1', ...more }: PageCall,
) {
  const headers = {
    'content-type': 'application/json',
    origin: url,
    'x-forwarded-for': from,
    ...(cookie && { cookie }),
    ...more.headers,
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(`${url}/api/auth${path}`, { method: 'POST', headers, body: text })
  const content = await response.text()
  const setCookies = response.headers.getSetCookie()
  return {
    status: response.status,
    headers: response.headers,
    json: content === '' ? undefined : JSON.parse(content),
    setCookies,
    /** For the Cookie header of the next request. */
    cookie: setCookies.map((set) => set.split(';', 1)[0]).join('; '),
  }
}

/** The code of an authenticator app (RFC 6238) for the secret of a set-up, now or some steps of 30 s later. */
export function totp(totpURI: string, stepsLater = 0): string {
  const base32 = new URL(totpURI).searchParams.get('secret')!
  const bits = [...base32]
    .map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'))
    .join('')
  const secret = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + stepsLater))
  const hash = createHmac('sha1', secret).update(counter).digest()
  const number = hash.readUInt32BE(hash.at(-1)! & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}
