import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { promisify } from 'node:util'
import { inject } from 'vitest'

// A setup file. In the tests' own processes, `promisify(generateKeyPair)` returns the run's RSA-2048 keys in turn.
// Programs that a test starts make their own keys.

const real = crypto.generateKeyPair
const keys = inject('rsaKeys').map(({ privateKey, publicKey }) => ({
  privateKey: Buffer.from(privateKey),
  publicKey: Buffer.from(publicKey),
}))
let next = 0

// The files of a worker share its modules, but each of them runs this again.
if (!('isOfTests' in real)) {
  const makeReal = promisify(real) as (type: string, options: object) => Promise<object>
  const take = async (type: string, options: { modulusLength?: number; privateKeyEncoding?: { format: string } }) => {
    const isOurs = type === 'rsa' && options.modulusLength === 2048 && options.privateKeyEncoding?.format === 'der'
    return isOurs ? keys[next++ % keys.length]! : makeReal(type, options)
  }
  const replacement = Object.assign((...args: Parameters<typeof real>) => real(...args), { isOfTests: true })
  Object.defineProperty(replacement, promisify.custom, { value: take })
  crypto.generateKeyPair = replacement as unknown as typeof real
  syncBuiltinESMExports()
}
