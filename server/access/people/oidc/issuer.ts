import type { Configuration } from 'openid-client'
import { fail, reasonOf } from '../../../errors.ts'

/** OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET. */
export interface OidcConfig {
  /** As the issuer writes itself: an https URL, or an http one of this machine. */
  issuer: string
  clientId: string
  clientSecret: string
}

/** The values that bind the response of the issuer to its request. */
export interface OidcRequest {
  state: string
  nonce: string
  verifier: string
  /** Unix milliseconds. */
  startedAtMs: number
  /** Whether the person must enter their credentials at the issuer anew. */
  anew: boolean
}

/** A person as the issuer knows them: `iss` and `sub` together are the identity. */
export interface Identity {
  issuer: string
  subject: string
  /** Asks the issuer for the claims that the ID token left out. */
  profile(): Promise<Profile>
}

export interface Profile {
  email: string | undefined
  isEmailVerified: boolean
  name: string | undefined
}

/** The fields of a fault in the log. Claims may name a person, so none is in it. */
export interface IssuerFault {
  issuer: string
  code: string
  message: string
  cause: string | undefined
}

/** The time limit of each request to the issuer. A page waits 15 s for two of them. */
const REQUEST_SECONDS = 5
/**
 * How old the metadata of the issuer may be. A start reads them again, so that it fails while the issuer does not
 * respond, and the browser is not sent there.
 */
const METADATA_MS = { start: 10_000, finish: 3_600_000 }

/** OpenID Connect Core 2: at most 255 characters. An empty one would make everybody the same person. */
const LONGEST_SUBJECT = 255
const NO_SUBJECT = 'The issuer did not say who you are. Ask the operator to check it.'

/** The client of the one issuer. Its library is loaded at the first sign-in. */
export class Issuer {
  readonly issuer: string
  /** For people: `accounts.example.com`. */
  readonly host: string
  readonly #config: OidcConfig
  readonly #note: (fault: IssuerFault) => void
  #known: { configuration: Promise<Configuration>; sinceMs: number } | undefined

  constructor(config: OidcConfig, note: (fault: IssuerFault) => void) {
    this.issuer = config.issuer
    this.host = new URL(config.issuer).host
    this.#config = config
    this.#note = note
  }

  /** The URL to send the browser to. Throws `transient_failure` while the issuer does not respond. */
  authorizationUrl(request: OidcRequest, redirectUri: string): Promise<string> {
    return this.#guarded(async () => {
      const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client')
      const url = buildAuthorizationUrl(await this.#configuration(METADATA_MS.start), {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state: request.state,
        nonce: request.nonce,
        code_challenge: await calculatePKCECodeChallenge(request.verifier),
        code_challenge_method: 'S256',
        ...(request.anew && { max_age: '0' }),
      })
      return url.href
    })
  }

  /**
   * Exchanges the response, a query string, for a verified identity: state, nonce, PKCE, the signature by the issuer's
   * keys, issuer, audience and expiry; for a request `anew` also the time of the sign-in. Throws `wrong_credentials`
   * and `transient_failure`.
   */
  identify(request: OidcRequest, redirectUri: string, response: string): Promise<Identity> {
    return this.#guarded(async () => {
      const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client')
      const server = await this.#configuration(METADATA_MS.finish)
      const url = new URL(redirectUri)
      url.search = response
      const tokens = await authorizationCodeGrant(server, url, {
        pkceCodeVerifier: request.verifier,
        expectedState: request.state,
        expectedNonce: request.nonce,
        idTokenExpected: true,
        // The person must have signed in there after the request was made, however long it took them to come back.
        ...(request.anew && { maxAge: Math.ceil((Date.now() - request.startedAtMs) / 1_000) }),
      })
      const claims = tokens.claims()
      if (!claims?.sub || claims.sub.length > LONGEST_SUBJECT) throw refused(NO_SUBJECT)
      const profile = async () => {
        const isEnough = claims.email !== undefined || !server.serverMetadata().userinfo_endpoint
        return profileOf(isEnough ? claims : await fetchUserInfo(server, tokens.access_token, claims.sub))
      }
      return { issuer: claims.iss, subject: claims.sub, profile: () => this.#guarded(profile) }
    })
  }

  async #guarded<Result>(ask: () => Promise<Result>): Promise<Result> {
    try {
      return await ask()
    } catch (error) {
      throw reasonOf(error) ? error : this.#faultOf(error)
    }
  }

  #configuration(maxAgeMs: number): Promise<Configuration> {
    if (!this.#known || performance.now() - this.#known.sinceMs > maxAgeMs) {
      const current = { configuration: discover(this.#config), sinceMs: performance.now() }
      this.#known = current
      current.configuration.catch(() => {
        if (this.#known === current) this.#known = undefined
      })
    }
    return this.#known.configuration
  }

  /** The documented error for a fault of the issuer, of its configuration, or of what the browser brought back. */
  #faultOf(error: unknown): Error {
    const { name, message, cause, code = '', error: word = '' } = error as Error & { code?: string; error?: string }
    if (name === 'AuthorizationResponseError') {
      // The word comes from the address bar.
      return refused(`${this.host} did not sign you in${/^[a-z_]{1,40}$/.test(word) ? ` (${word})` : ''}. Try again.`)
    }
    if (name === 'ResponseBodyError' && word === 'invalid_grant') return refused(START_AGAIN)
    this.#note({
      issuer: this.issuer,
      code: word || code,
      message,
      cause: cause instanceof Error ? cause.message : undefined,
    })
    if (name === 'WWWAuthenticateChallengeError' || CLIENT_FAULTS.includes(word))
      return unavailable(
        `${this.host} refuses this service: ask the operator to check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET`,
      )
    if (REFUSALS.includes(code)) return refused(START_AGAIN)
    return unavailable(`${this.host} does not respond as it should. Sign in with your password, or try again`)
  }
}

async function discover({ issuer, clientId, clientSecret }: OidcConfig): Promise<Configuration> {
  const client = await import('openid-client')
  const isLocal = issuer.startsWith('http:')
  return client.discovery(new URL(issuer), clientId, undefined, authentication(client, clientSecret), {
    timeout: REQUEST_SECONDS,
    execute: [client.enableNonRepudiationChecks, ...(isLocal ? [client.allowInsecureRequests] : [])],
  })
}

/** HTTP Basic is the default of the standard (OpenID Connect Discovery 3), where the metadata name no method. */
function authentication({ ClientSecretBasic, ClientSecretPost }: typeof import('openid-client'), secret: string) {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  return (...request: Parameters<typeof basic>) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = request[0]
    return (methods.includes('client_secret_basic') ? basic : post)(...request)
  }
}

const START_AGAIN = 'This sign-in has ended or does not belong to this browser. Start again.'

const refused = (message: string) => fail('wrong_credentials', message)

const unavailable = (message: string) => fail('transient_failure', `${message}.`, { retryAfterSeconds: 10 })

/** The issuer does not know OIDC_CLIENT_ID or OIDC_CLIENT_SECRET, or does not let the client do this. */
const CLIENT_FAULTS = ['invalid_client', 'unauthorized_client', 'invalid_scope', 'unsupported_grant_type']

/** A check of the response has failed, such as those of state, nonce, signature, audience or the time of sign-in. */
const REFUSALS = [
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
]

function profileOf({ email, email_verified, name }: { readonly [claim: string]: unknown }): Profile {
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  return { email: text(email), isEmailVerified: email_verified === true, name: text(name) }
}
