import { Command } from '@commander-js/extra-typings'
import { countSecrets, sealAnew } from '../server/process/stored-secrets.ts'
import { command, type Print } from './command.ts'
import { withDatabase } from './database.ts'
import { variables } from './environment.ts'

export const secretsCommand = (print: Print) =>
  new Command('secrets').description('Manage the encryption of stored secrets: rotate').addCommand(rotate(print))

const rotate = (print: Print) =>
  command('rotate', 'ENCRYPTION_KEYS=k2:...,k1:... verdict secrets rotate')
    .summary('Seal every stored secret with the first of ENCRYPTION_KEYS')
    .description(
      'Seal every stored secret with the first of ENCRYPTION_KEYS. Keep the other keys for 90 days: bounces and ' +
        'complaints about mail that was sent before need them.',
    )
    .action(async () => {
      const { encryptionKeys } = variables('encryptionKeys')
      const { id } = encryptionKeys[0]!
      await withDatabase(async (db) => {
        const { older } = await countSecrets(db, encryptionKeys)
        const progress = (done: number) => console.error(`${done} of ${older}`)
        const { resealed, faults } = await sealAnew(db, encryptionKeys, progress)
        const left = await countSecrets(db, encryptionKeys)
        const json = { key: id, resealed, total: left.total, older: left.older, faults }
        const head = `Sealed ${resealed} of ${left.total} stored secrets with the key ${id}.`
        const text = [head, ...faults, nextStep(left.older, faults)].join('\n')
        print({ json, text, exit: left.older === 0 ? 'ok' : 'failed' })
      })
    })

function nextStep(older: number, faults: string[]): string {
  if (older === 0) return 'No secret needs an older key.'
  if (faults.length > 0) return `${older} still need an older key. Add it to ENCRYPTION_KEYS after the first.`
  return `${older} were written meanwhile by a process with another first key. Give it the new key and run this again.`
}
