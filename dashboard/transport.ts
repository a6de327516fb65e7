import type { Interceptor, Transport } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import { errorCodeOf } from './feedback/call-error.ts'
import { timeLimit } from './time-limits.ts'

export interface TransportParts {
  /** The session ended or never was. Resolves to whether the person has signed in again where they are. */
  signInAgain(): Promise<boolean>
  /** Asks for the password. Resolves to whether the server has accepted it. */
  confirm(): Promise<boolean>
}

/** The pages send no API key: that it is missing means that the browser has no cookie any more. */
const NO_SESSION: (string | undefined)[] = ['invalid_session', 'invalid_api_key']

/** Creates the transports of the pages: one for each account, and one for calls without an account. */
export function createTransports({ signInAgain, confirm }: TransportParts): (accountId?: string) => Transport {
  const transports = new Map<string, Transport>()
  let signedInAtMs = Number.NEGATIVE_INFINITY

  const sessionEnd: Interceptor = (next) => async (request) => {
    const startedAtMs = performance.now()
    try {
      return await next(request)
    } catch (error) {
      if (!NO_SESSION.includes(errorCodeOf(error))) throw error
      // A call that was on its way while the person signed in is only repeated.
      if (startedAtMs > signedInAtMs) {
        if (!(await signInAgain())) throw error
        signedInAtMs = performance.now()
      }
      return next(request)
    }
  }

  const confirmation: Interceptor = (next) => async (request) => {
    try {
      return await next(request)
    } catch (error) {
      if (errorCodeOf(error) === 'confirmation_required' && (await confirm())) return next(request)
      throw error
    }
  }

  return (accountId = '') => {
    const known = transports.get(accountId)
    if (known) return known
    const transport = createConnectTransport({
      baseUrl: location.origin,
      interceptors: [sessionEnd, confirmation, timeLimit, ...(accountId ? [accountHeader(accountId)] : [])],
    })
    transports.set(accountId, transport)
    return transport
  }
}

/** Says which of the person's accounts a call is about. */
function accountHeader(accountId: string): Interceptor {
  return (next) => (request) => {
    request.header.set('verdict-account', accountId)
    return next(request)
  }
}
