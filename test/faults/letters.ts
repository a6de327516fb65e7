import type { Dice } from './seed.ts'

/** What one request asks for. */
export interface Letter {
  /** Its subject. */
  request: string
  to: string[]
  text: string
  /** Its Idempotency-Key. */
  key?: string
}

/** Rejected (special-use), and without a mail server. */
const NEVER = ['eve@printer.local', 'zoe@nowhere.example']
/** Who else may be written to: a friend, one over quota, one unknown, and those. */
const OTHERS = ['bob@one.example', 'full@one.example', 'nobody@two.example', ...NEVER]

/** Letters that never reach a mail server. */
export function hopelessLetters(purpose: string, count: number): Letter[] {
  return Array.from({ length: count }, (_, i) => {
    const request = `${purpose}-${i + 1}`
    return { request, to: NEVER.map((address) => address.replace('@', `.${request}@`)), text: 'Hello?' }
  })
}

/** Letters to one to five recipients, of whom at least one is welcome; one in five letters is long. Nobody gets two. */
export function letters(purpose: string, count: number, dice: Dice): Letter[] {
  return Array.from({ length: count }, (_, i) => {
    const request = `${purpose}-${i + 1}`
    const welcome = dice.pick([['ann@one.example'], ['ann@two.example'], ['ann@one.example', 'ann@two.example']])
    const addresses = [...welcome, ...OTHERS.filter(() => dice.chance(0.25))]
    const to = addresses.map((address) => address.replace('@', `.${request}@`))
    return { request, to, text: 'All is well.\n'.repeat(dice.chance(0.2) ? 15_000 : 10) }
  })
}
