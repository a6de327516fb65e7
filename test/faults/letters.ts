import type { Dice } from './seed.ts'

/** What one request asks for. */
export interface Letter {
  /** Its subject. */
  request: string
  to: string[]
  text: string
}

/** Who else may be written to: over quota, unknown, rejected (special-use), and without a mail server. */
const OTHERS = ['bob@one.example', 'full@one.example', 'nobody@two.example', 'eve@printer.local', 'zoe@nowhere.example']

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
