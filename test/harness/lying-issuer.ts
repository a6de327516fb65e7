import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { OidcConfig } from '../../server/access/people/oidc/issuer.ts'

export type Claims = Record<string, unknown>

/** What an issuer says, each time as a test wants it. */
export interface Lies {
  /** Changes the claims of an ID token before it is signed. */
  claims?(honest: Claims): Claims
  /** Changes the header of an ID token before it is signed. */
  header?(honest: Claims): Claims
  /** Signs what an ID token holds; by default with the issuer's key. Returns the signature. */
  sign?(signed: string, key: KeyObject): Buffer
  metadata?(honest: Claims): Claims
  userinfo?(honest: Claims): Claims
  /** Changes the query string that the browser brings back. */
  response?(honest: URLSearchParams): void
}

/** An issuer of OpenID Connect that signs whatever a test wants. */
export interface LyingIssuer extends AsyncDisposable {
  config: OidcConfig
  lies: Lies
  /** Shows a new key, with a new id, in the place of the current one. Returns the key that is gone. */
  rotate(): { kid: string; key: KeyObject }
  /** What the issuer knows of the person whom `signIn` names. */
  people: Map<string, Claims>
  /** Signs in at an authorization URL. Returns the query string that the browser brings back. */
  signIn(authorizationUrl: string, subject: string): string
}

export async function startLyingIssuer(): Promise<LyingIssuer> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const newKey = () => ({ kid: randomUUID(), key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey })
  const codes = new Map<string, { subject: string; nonce: string }>()
  let current = newKey()

  const own: LyingIssuer = {
    config: { issuer, clientId: 'verdict', clientSecret: 'a secret of at least 32 characters' },
    lies: {},
    people: new Map(),
    rotate() {
      const gone = current
      current = newKey()
      return gone
    },
    signIn(authorizationUrl, subject) {
      const { searchParams } = new URL(authorizationUrl)
      const code = randomUUID()
      codes.set(code, { subject, nonce: searchParams.get('nonce')! })
      const response = new URLSearchParams({ code, state: searchParams.get('state')!, iss: issuer })
      own.lies.response?.(response)
      return response.toString()
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }

  function metadata(): Claims {
    const honest = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      authorization_response_iss_parameter_supported: true,
    }
    return own.lies.metadata?.(honest) ?? honest
  }

  function idToken({ subject, nonce }: { subject: string; nonce: string }): string {
    const now = Math.floor(Date.now() / 1_000)
    const honest = { iss: issuer, sub: subject, aud: 'verdict', iat: now, exp: now + 300, nonce }
    const known = { ...honest, ...own.people.get(subject) }
    const head = { alg: 'RS256', kid: current.kid, typ: 'JWT' }
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const signed = `${encode(own.lies.header?.(head) ?? head)}.${encode(own.lies.claims?.(known) ?? known)}`
    const signature = (own.lies.sign ?? signRsa)(signed, current.key)
    return `${signed}.${signature.toString('base64url')}`
  }

  function respond(path: string, form: URLSearchParams): Claims | undefined {
    if (path === '/.well-known/openid-configuration') return metadata()
    if (path === '/jwks') return { keys: [publicJwk(current)] }
    if (path === '/token') {
      const known = codes.get(form.get('code')!)!
      return { access_token: known.subject, token_type: 'Bearer', expires_in: 60, id_token: idToken(known) }
    }
    return undefined
  }

  server.on('request', async (request, response) => {
    const form = new URLSearchParams(await textOf(request))
    const subject = request.headers.authorization?.slice('Bearer '.length) ?? ''
    const honest = { sub: subject, ...own.people.get(subject) }
    const body = request.url === '/userinfo' ? (own.lies.userinfo?.(honest) ?? honest) : respond(request.url!, form)
    response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}))
  })
  return own
}

const publicJwk = ({ kid, key }: { kid: string; key: KeyObject }) => ({
  ...createPublicKey(key).export({ format: 'jwk' }),
  kid,
  alg: 'RS256',
  use: 'sig',
})

export const signRsa = (signed: string, key: KeyObject) => sign('RSA-SHA256', Buffer.from(signed), key)

export const signHmac = (secret: string | Buffer) => (signed: string) =>
  createHmac('sha256', secret).update(signed).digest()

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
