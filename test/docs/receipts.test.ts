import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CompactSign, decodeJwt } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import { RECEIPT } from '../../dev/openapi/receipt-example.ts'
import { listenUntilEnd } from '../harness/until-end.ts'

// The verifier in the guide, tested with receipts as the service signs them. test/real runs the one in Python.

const ROOT = join(import.meta.dirname, '../..')
const GUIDE = await readFile(join(ROOT, 'docs/receipts.md'), 'utf8')
const [, CODE] = /^```js verify\n(.*?)^```/ms.exec(GUIDE)!
const [, CLAIMS] = /^```json example\n(.*?)^```/ms.exec(GUIDE)!

/** Imports the code from a folder where the packages of this repository resolve. */
async function verifier(issuer: string): Promise<(receipt: string) => Promise<unknown>> {
  const folder = await mkdtemp(join(ROOT, 'node_modules/.verify-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'verify.mjs')
  await writeFile(file, CODE!.replace('https://mail.example.com', issuer))
  return (await import(pathToFileURL(file).href)).verify
}

test('the verifier in the guide accepts a genuine receipt and nothing else', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const kid = 'rkey_1'
  const keySet = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'EdDSA', use: 'sig' }] }
  const server = createServer((_, response) => response.end(JSON.stringify(keySet)))
  const issuer = `http://127.0.0.1:${await listenUntilEnd(server)}`
  const verify = await verifier(issuer)

  const claims = { ...JSON.parse(CLAIMS!), iss: issuer }
  const sign = (header: object, payload: object) =>
    new CompactSign(Buffer.from(JSON.stringify(payload)))
      .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'verdict-receipt+jwt', ...header })
      .sign(privateKey)
  const receipt = await sign({}, claims)
  expect(await verify(receipt)).toEqual(claims)
  await expect(verify(receipt.slice(0, -4))).rejects.toThrow()
  await expect(verify(await sign({ typ: 'JWT' }, claims))).rejects.toThrow('typ')
  await expect(verify(await sign({}, { ...claims, iss: 'https://evil.example' }))).rejects.toThrow('iss')
  await expect(verify(await sign({ kid: 'rkey_2' }, claims))).rejects.toThrow('no applicable key')
})

test('the claims in the guide are those of a receipt', () => {
  const { recipients, ...claims } = decodeJwt<{ recipients: object[] }>(RECEIPT)
  const shown = JSON.parse(CLAIMS!)
  expect(Object.keys(shown)).toEqual([...Object.keys(claims), 'recipients'])
  expect(Object.keys(shown.recipients[0])).toEqual(expect.arrayContaining(Object.keys(recipients[0]!)))
})
