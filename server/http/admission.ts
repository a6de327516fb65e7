import type { DescMethod } from '@bufbuild/protobuf'
import { type Caller, callerKey, type Rate, type Right, rightKey } from '../caller.ts'
import { fail } from '../errors.ts'
import type { Call } from './call.ts'

/** Identifies the caller, or throws an error made by `fail`. Runs before a byte of the body is read. */
export type Gate = (call: {
  /** undefined for paths that every caller may request. */
  method: DescMethod | undefined
  authorization: string | null
  /** A call without a key then counts for the caller's address, and the gate returns undefined. */
  keyOptional: boolean
  remoteAddress: string
  /** Receives how many requests the caller has left, for the headers of the response. */
  tellRate(rate: Rate): void
  /** Receives what permits the call, which is checked again when the body has arrived. */
  giveRight?(right: Right): void
}) => Promise<Caller | undefined>

/** Admits a call or throws, before its body is read. */
export type Admit = (call: Call) => Promise<void>

/** Calls the gate, which counts every request, and puts what is left into the headers of the response. */
export function createKeyAdmission(gate: Gate, keyOptional: boolean): Admit {
  return async (call) => {
    const { method, remoteAddress } = call
    const authorization = call.raw.headers.authorization ?? null
    const tellRate = (rate: Rate) => void call.reply.headers(rateHeaders(rate))
    const giveRight = (right: Right) => void call.values.set(rightKey, right)
    call.values.set(callerKey, await gate({ method, authorization, remoteAddress, keyOptional, tellRate, giveRight }))
  }
}

/** Counts every request for its address, whatever key it brings, and puts what is left into the headers. */
export function createAddressAdmission(gate: Gate): Admit {
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
