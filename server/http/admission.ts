import { callerKey, type KeyGate, type Rate, rightKey } from '../caller.ts'
import { fail } from '../errors.ts'
import type { Call } from './call.ts'

/** Admits a call or throws, before its body is read. */
export type Admit = (call: Call) => Promise<void>

/** Calls the gate, which counts every request, and puts what is left into the headers of the response. */
export function createKeyAdmission(gate: KeyGate, keyOptional: boolean): Admit {
  return async (call) => {
    const { method, remoteAddress } = call
    const authorization = call.raw.headers.authorization ?? null
    const caller = await gate({
      method,
      authorization,
      remoteAddress,
      keyOptional,
      tellRate: (rate) => void call.reply.headers(rateHeaders(rate)),
      tellCaller: (caller) => void call.values.set(callerKey, caller),
      giveRight: (right) => void call.values.set(rightKey, right),
    })
    call.values.set(callerKey, caller)
  }
}

/** Counts every request for its address, whatever key it brings, and puts what is left into the headers. */
export function createAddressAdmission(gate: KeyGate): Admit {
  return async ({ remoteAddress, reply }) => {
    const tellRate = (rate: Rate) => void reply.headers(rateHeaders(rate))
    await gate({ method: undefined, authorization: null, keyOptional: true, remoteAddress, tellRate })
  }
}

/** Refuses calls that arrive after the drain began, while it is certain that nothing was sent. */
export function undrained(draining: AbortSignal, admit: Admit): Admit {
  return (call) => (draining.aborted ? Promise.reject(shuttingDown()) : admit(call))
}

const shuttingDown = () =>
  fail('transient_failure', 'This server is shutting down. Nothing was sent; it is safe to retry.')

export const rateHeaders = ({ limit, remaining, resetAt }: Rate) => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(resetAt),
})
