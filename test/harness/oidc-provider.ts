import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { OidcConfig } from '../../server/access/people/oidc/issuer.ts'

/** What the provider says about a person. The login is the subject. */
interface Claims {
  email?: string
  email_verified?: boolean
  name?: string
}

export interface OidcProvider extends AsyncDisposable {
  /** The client that is registered for the redirect URI. */
  config: OidcConfig
  /** The people of the provider, by login. Any password signs in. */
  people: Map<string, Claims>
  /** How long ago a person signed in there, as the provider remembers it. */
  signedInSecondsAgo: number
  /** Whether it responds. Otherwise every connection is closed. */
  isUp: boolean
  /** Changes ID tokens on their way, such as their signature. */
  onToken: (response: Record<string, unknown>) => void
  /** Opens a browser without memory. It signs in at a URL of the provider, and returns where it is sent back to. */
  browser(): (url: string, login: string) => Promise<URL>
}

/** Starts a real provider of OpenID Connect on loopback, with its own pages to sign in. */
export async function startOidcProvider(redirectUri: () => string): Promise<OidcProvider> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const people = new Map<string, Claims>()
  const config = { issuer, clientId: 'verdict', clientSecret: 'a secret of at least 32 characters' }
  const own: OidcProvider = {
    config,
    people,
    signedInSecondsAgo: 0,
    isUp: true,
    onToken: () => {},
    browser: createBrowser,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  // Made at the first request: the redirect URI is known once the service listens.
  let handle: ReturnType<Provider['callback']> | undefined
  server.on('request', (request, response) => {
    if (!own.isUp) return request.destroy()
    handle ??= createProvider(own, redirectUri()).callback()
    return void handle(request, response)
  })
  return own
}

function createProvider(own: OidcProvider, redirectUri: string): Provider {
  const { config, people } = own
  const provider = new Provider(config.issuer, {
    clients: [
      {
        client_id: config.clientId,
        client_secret: config.clientSecret,
        redirect_uris: [redirectUri],
        require_auth_time: true,
      },
    ],
    jwks: { keys: [generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })] },
    cookies: { keys: ['a key of the provider'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_, login) => ({ accountId: login, claims: () => ({ sub: login, ...people.get(login) }) }),
    // The provider does not ask people whether the client may read their claims.
    async loadExistingGrant({ oidc }) {
      oidc.session!.loginTs! -= own.signedInSecondsAgo
      const grant = new oidc.provider.Grant({ clientId: oidc.client!.clientId, accountId: oidc.session!.accountId! })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  })
  provider.use(async (context, next) => {
    await next()
    if (context.oidc?.route === 'token') own.onToken(context.body as Record<string, unknown>)
  })
  return provider
}

function createBrowser() {
  const cookies = new Map<string, string>()

  /** A cookie counts for its path, and the provider deletes one by an empty value. */
  async function load(url: URL, body?: URLSearchParams): Promise<Response> {
    const sent = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const method = body ? 'POST' : 'GET'
    const response = await fetch(url, { method, body, redirect: 'manual', headers: { cookie: sent } })
    for (const set of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set)!
      if (value) cookies.set(name!, value)
      else cookies.delete(name!)
    }
    return response
  }

  return async (start: string, login: string): Promise<URL> => {
    const { origin } = new URL(start)
    let url = new URL(start)
    for (;;) {
      const response = await load(url)
      const next = response.headers.get('location')
      if (next) url = new URL(next, url)
      else {
        const page = await response.text()
        const [, form] = /<form[^>]* action="([^"]+)"/.exec(page) ?? []
        if (!form) throw new Error(`The provider shows ${response.status} ${page.slice(0, 500)}`)
        const entered = await load(new URL(form, url), new URLSearchParams({ prompt: 'login', login, password: 'any' }))
        url = new URL(entered.headers.get('location')!, url)
      }
      if (url.origin !== origin) return url
    }
  }
}
