import type { DescMethod } from '@bufbuild/protobuf'
import { type Caller, callerKey, rightKey, type SessionGate } from '../caller.ts'
import { fail } from '../errors.ts'
import { type Admit, rateHeaders } from './admission.ts'
import type { Call } from './call.ts'

/** Admits calls of the dashboard's own services: over Connect alone, with a session. */
export function createSessionAdmission(gate: SessionGate): Admit {
  return async (call) => {
    if (call.protocol !== 'connect') {
      throw fail('method_not_allowed', 'The calls of the dashboard are served over Connect only.')
    }
    if (!hasProtocolHeader(call)) {
      throw fail('invalid_payload', 'The header "Connect-Protocol-Version: 1" is missing.')
    }
    await identify(gate, call, call.method!, headerOf(call, 'verdict-account'))
  }
}

/** Calls the gate and sets the caller of the call. Throws what the gate throws. */
export async function identify(
  gate: SessionGate,
  call: Call,
  method: DescMethod,
  account: string | undefined,
): Promise<Caller | undefined> {
  const { remoteAddress, reply, values } = call
  const caller = await gate({
    method,
    cookie: headerOf(call, 'cookie'),
    account,
    remoteAddress,
    tellRate: (rate) => void reply.headers(rateHeaders(rate)),
    setCookie: (value) => void reply.header('set-cookie', value),
    giveRight: (right) => void values.set(rightKey, right),
  })
  values.set(callerKey, caller)
  return caller
}

/**
 * Admits calls of the public services by their API key. A Connect call without a key may bring a session instead, if
 * it has the protocol's header: no form of another site can send that.
 */
export function createKeyOrSessionAdmission(
  byKey: Admit,
  bySession: Admit,
  hasSession: (cookie: string) => boolean,
): Admit {
  return (call) => {
    const { cookie, authorization } = call.raw.headers
    const isSession =
      cookie !== undefined && authorization === undefined && call.protocol === 'connect' && hasProtocolHeader(call)
    return isSession && hasSession(cookie) ? bySession(call) : byKey(call)
  }
}

/** A GET, which a link can make, does not count: Connect serves some methods by it. */
function hasProtocolHeader(call: Call): boolean {
  return call.raw.method === 'POST' && call.raw.headers['connect-protocol-version'] === '1'
}

function headerOf({ raw }: Call, name: string): string | undefined {
  const value = raw.headers[name]
  return Array.isArray(value) ? value.join('; ') : value
}
