import { countSealed, reseal } from '../db/reseal.ts'
import { command } from './command.ts'
import { variables, withDatabase } from './surroundings.ts'

export const rotate = command({
  summary: 'Seal every stored secret with the first of ENCRYPTION_KEYS, so that the others can be taken away.',
  options: {},
  examples: ['ENCRYPTION_KEYS=k2:...,k1:... verdict secrets rotate'],
  async run() {
    const { encryptionKeys } = variables('encryptionKeys')
    const { id } = encryptionKeys[0]!
    return withDatabase(async (db) => {
      const { older } = await countSealed(db, encryptionKeys)
      const { resealed, faults } = await reseal(db, encryptionKeys, (done) => console.error(`${done} of ${older}`))
      const left = await countSealed(db, encryptionKeys)
      const json = { key: id, resealed, total: left.total, older: left.older, faults }
      const lines = [
        `Sealed ${resealed} of ${left.total} stored secrets anew with the key ${id}.`,
        ...faults,
        next(left.older, faults),
      ]
      return { json, text: lines.join('\n'), exit: left.older === 0 ? 'ok' : 'failed' }
    })
  },
})

function next(older: number, faults: string[]): string {
  if (older === 0) return 'None needs an older key any more.'
  if (faults.length > 0) return `${older} still need an older key. Name it in ENCRYPTION_KEYS after the first.`
  return `${older} were written meanwhile by a process with another first key. Give it the new one, and run this again.`
}
