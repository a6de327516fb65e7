import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'

export interface RsaKeyPair {
  /** PKCS #8 in DER. */
  privateKey: Buffer
  /** SPKI in DER. */
  publicKey: Buffer
}

declare module 'vitest' {
  interface ProvidedContext {
    rsaKeys: RsaKeyPair[]
  }
}

/** No test needs more keys than this that differ. */
const COUNT = 8

/**
 * Makes the run's RSA-2048 keys in advance: each takes a tenth of a second of processor time, and the tests ask for
 * 150.
 */
export default async function setup(project: TestProject): Promise<void> {
  const makeKey = () =>
    promisify(generateKeyPair)('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'der' },
      publicKeyEncoding: { type: 'spki', format: 'der' },
    })
  const keys: RsaKeyPair[] = []
  for (let i = 0; i < COUNT; i++) keys.push(await makeKey())
  project.provide('rsaKeys', keys)
}
