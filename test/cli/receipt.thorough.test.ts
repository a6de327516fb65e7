import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCli } from '../../cli/run.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { startApi } from '../services/api.ts'

// The command against the whole API, and without it.

const api = await startApi()
const folder = temporaryFolder()
const { json: sent } = await api.send({ to: ['ann@example.net', 'mailbox_full@simulator.test'], text: 'Hi Ann' })
const messageId = sent.message_id
/** The message as its first recipient's server received it. */
const mail = api.world.exchanger.messages[0]!.content
beforeEach(() => {
  vi.stubEnv('VERDICT_URL', api.url)
  vi.stubEnv('VERDICT_API_KEY', api.keys.live)
})
afterEach(() => void vi.unstubAllEnvs())

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const jwks = () => `${api.url}/.well-known/jwks.json`
const verify = (...args: string[]) => runCli(['receipt', 'verify', ...args])

async function savedReceipt(): Promise<string> {
  return file('receipt.jws', `${(await runCli(['receipt', messageId])).text}\n`)
}

test('a receipt is printed as it is, and its verification says in words what it proves', async () => {
  const { text, json, exit } = await verify(await savedReceipt(), '--jwks', jwks())
  expect(exit).toBe('ok')
  expect(text.split('\n')).toEqual([
    expect.stringMatching(/^The receipt is genuine\. The key rkey_\w{26} signed it at \d{4}-\S+Z\.$/),
    `  issuer   ${api.url}`,
    expect.stringMatching(new RegExp(`^  message  ${messageId} from example\\.test, accepted at \\S+Z$`)),
    expect.stringMatching(/^ {2}digest {3}sha-256:[0-9a-f]{64}$/),
    expect.stringMatching(/^ {2}to ann@example\.net: delivered, at \S+Z$/),
    '    mx.example.net [127.0.0.1] replied 250 2.0.0 queued (no TLS)',
    expect.stringMatching(/^ {2}to mailbox_full@simulator\.test: bounced, mailbox_full, at \S+Z$/),
    expect.stringMatching(/^ {4}mx\.simulator\.test \[127\.0\.0\.1\] replied 452 4\.2\.2 /),
    '"delivered" means that the server accepted the message with 250. It says nothing about the inbox.',
  ])
  expect(json).toMatchObject({ valid: true, claims: { sub: messageId }, kid: expect.stringMatching(/^rkey_/) })
})

test('with a saved key set no network is needed; the JSON of the API is read too', async () => {
  const set = file('jwks.json', await (await fetch(jwks())).text())
  const saved = file('receipt.json', JSON.stringify((await runCli(['receipt', messageId])).json))
  vi.stubEnv('VERDICT_URL', 'http://127.0.0.1:1')
  const { text } = await verify(saved, '--jwks', set)
  expect(text).toContain(`  issuer   ${api.url} (as the receipt says: trust it as far as you trust the key set)`)
  expect((await verify(saved, '--jwks', set, '--issuer', api.url)).text).toContain(`  issuer   ${api.url}\n`)
  await expect(verify(saved, '--jwks', set, '--issuer', 'https://mail.example.com')).rejects.toMatchObject({
    exit: 'failed',
    json: { fault: 'wrong_issuer' },
    message: `The receipt proves nothing (wrong_issuer). Its issuer is "${api.url}", not "https://mail.example.com".`,
  })
})

test('a receipt that proves nothing ends with the fault and exit code 1', async () => {
  const { text: jws } = await runCli(['receipt', messageId])
  const [head, body, signature] = jws.split('.')
  const claims = JSON.parse(Buffer.from(body!, 'base64url').toString())
  const changed = Buffer.from(JSON.stringify({ ...claims, recipients: [] })).toString('base64url')
  const empty = file('empty.json', '{"keys":[]}')
  for (const [content, set, fault] of [
    [`${head}.${changed}.${signature}`, jwks(), 'forged'],
    [jws.slice(0, -9), jwks(), 'truncated'],
    [jws, empty, 'unknown_key'],
    ['{"error":"not_found"}', empty, 'not_a_receipt'],
  ] as const) {
    const refused = { exit: 'failed', json: { fault } }
    await expect(verify(file('refused', content), '--jwks', set)).rejects.toMatchObject(refused)
  }
})

test('a saved copy of the message is compared with the digest', async () => {
  const receipt = await savedReceipt()
  const withCopy = (copy: string) => verify(receipt, '--jwks', jwks(), '--message', file('mail.eml', copy))
  expect(await withCopy(mail)).toMatchObject({
    exit: 'ok',
    json: { message_matches: true },
    text: expect.stringMatching(/\nThe saved message is the one that was sent, octet for octet\.$/),
  })
  expect((await withCopy(`Received: here\n${mail.replaceAll('\r\n', '\n')}`)).text).toMatch(/after 16 octets of header/)
  expect(await withCopy(mail.replace('Ann', 'Bob'))).toMatchObject({ exit: 'failed', json: { message_matches: false } })
})

test('files and URLs that are not what they should be are usage errors; an unknown message is not found', async () => {
  const receipt = await savedReceipt()
  for (const args of [
    ['receipt'],
    ['receipt', 'verify', receipt],
    ['receipt', 'verify', join(folder, 'absent'), '--jwks', jwks()],
    ['receipt', 'verify', receipt, '--jwks', join(folder, 'absent')],
    ['receipt', 'verify', receipt, '--jwks', file('text', 'no JSON')],
    ['receipt', 'verify', receipt, '--jwks', `${api.url}/healthz`],
  ]) {
    await expect(runCli(args)).rejects.toMatchObject({ exit: 'usage' })
  }
  await expect(verify(receipt, '--jwks', 'http://127.0.0.1:1/jwks.json')).rejects.toMatchObject({ exit: 'unavailable' })
  await expect(runCli(['receipt', publicId('msg', newId(Date.now()))])).rejects.toMatchObject({ exit: 'not_found' })
})

test('a rotation lists all keys with their states', async () => {
  await fetch(jwks())
  vi.stubEnv('DATABASE_URL', api.world.database.url)
  vi.stubEnv('ENCRYPTION_KEYS', `k1:${Buffer.alloc(32, 7).toString('base64')}`)
  const { text, json } = await runCli(['receipt', 'rotate-key'])
  expect(text).toMatch(
    /^KEY +CREATED +STATE\nrkey_\S+ +\S+ \S+Z {2}active\nrkey_\S+ +\S+ \S+Z {2}next, signs from \S+ \S+Z$/,
  )
  const { keys } = json as { keys: { kid: string; state: string }[] }
  expect(keys.map(({ state }) => state)).toEqual(['active', 'next'])
  expect((await runCli(['receipt', 'rotate-key'])).json).toEqual(json)
})
