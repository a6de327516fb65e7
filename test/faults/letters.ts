import type { Dice } from './seed.ts'

/** The content of one send request. */
export interface Letter {
  /** The subject, which identifies the request. */
  request: string
  to: string[]
  text: string
  /** The Idempotency-Key. */
  key?: string
}

/**
 * Recipients that no mail server accepts: a special-use domain, which is rejected, and a domain without a mail server.
 */
const UNREACHABLE = ['eve@printer.local', 'zoe@nowhere.example']
/** Possible further recipients: one accepted, one over quota, one unknown, and the unreachable ones. */
const OTHERS = ['bob@one.example', 'full@one.example', 'nobody@two.example', ...UNREACHABLE]

/** Letters that never reach a mail server. */
export function unreachableLetters(purpose: string, count: number): Letter[] {
  return Array.from({ length: count }, (_, i) => {
    const request = `${purpose}-${i + 1}`
    return { request, to: UNREACHABLE.map((address) => address.replace('@', `.${request}@`)), text: 'Hello?' }
  })
}

/**
 * Letters to one to five recipients, at least one of them accepted. One in five letters is long. No recipient gets two
 * letters.
 */
export function letters(purpose: string, count: number, dice: Dice): Letter[] {
  return Array.from({ length: count }, (_, i) => {
    const request = `${purpose}-${i + 1}`
    const acceptedAddresses = dice.pick([
      ['ann@one.example'],
      ['ann@two.example'],
      ['ann@one.example', 'ann@two.example'],
      ['ann@one.example', 'ann@also.one.example'],
    ])
    const addresses = [...acceptedAddresses, ...OTHERS.filter(() => dice.chance(0.25))]
    const to = addresses.map((address) => address.replace('@', `.${request}@`))
    return { request, to, text: 'All is well.\n'.repeat(dice.chance(0.2) ? 15_000 : 10) }
  })
}
