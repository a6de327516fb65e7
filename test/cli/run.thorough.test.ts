import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DESTROYING, runCli } from '../../cli/run.ts'
import { SCOPES, SCOPES_OF } from '../../server/access/scopes.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { makePartitions } from '../../server/db/partitions.ts'
import { domains } from '../../server/db/schema.ts'
import { stringsOf } from '../../server/domains/records.ts'
import { CERTIFICATE } from '../harness/certificates.ts'
import { startDns } from '../harness/dns.ts'
import { testDatabase } from '../harness/postgres.ts'
import { listenUntilEnd, temporaryFolder } from '../harness/until-end.ts'

const secret = randomBytes(32).toString('base64')

const database = await testDatabase()
const folder = temporaryFolder()
beforeEach(() => {
  set({ DATABASE_URL: database.url, ENCRYPTION_KEYS: `k1:${secret}`, DATA_DIR: folder })
  set({
    TEMPORAL_ADDRESS: '',
    VERDICT_URL: '',
    VERDICT_API_KEY: '',
    SMTP_SOURCE_ADDRESSES: '',
    SMTP_HELO_NAME: '',
    DNS_SERVERS: '',
    RETURN_PATH_HOST: '',
    NODE_ENV: '',
  })
})
afterEach(() => void vi.unstubAllEnvs())

function set(env: Record<string, string>) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
}

/** The JSON of a command's output, as a script would read it. */
async function json(...args: string[]) {
  return JSON.parse(JSON.stringify((await runCli(args)).json))
}

const textOf = async (...args: string[]) => (await runCli(args)).text

test('without an account, the message says how to create one', async () => {
  await expect(runCli(['keys', 'list'])).rejects.toMatchObject({
    exit: 'not_found',
    message: 'There is no account. Create one: verdict accounts create <name>',
  })
  expect(await textOf('accounts', 'list')).toBe('There is no account. Create one: verdict accounts create <name>')
})

test('the only account is the default', async () => {
  const account = await json('accounts', 'create', 'Web shop')
  expect(account).toMatchObject({ account_id: expect.stringMatching(/^acc_\w{26}$/), name: 'Web shop', tier: null })
  expect(await json('keys', 'create', 'shop')).toMatchObject({ account_id: account.account_id })
})

test('with several accounts the account must be named, by id or by name', async () => {
  const { account_id } = await json('accounts', 'create', 'One more')
  await expect(runCli(['keys', 'list'])).rejects.toMatchObject({
    exit: 'usage',
    message: expect.stringContaining('One more'),
  })
  expect(await textOf('keys', 'list', '--account', account_id)).toBe('The account has no key.')
  expect(await textOf('keys', 'list', '--account', 'One more')).toBe('The account has no key.')
  await expect(runCli(['keys', 'list', '--account', 'Absent'])).rejects.toMatchObject({ exit: 'not_found' })
  expect(await textOf('accounts', 'list')).toMatch(
    /^ACCOUNT +NAME +TIER +CREATED\nacc_\w{26} {2}Web shop .*\nacc_\w{26} {2}One more/,
  )
})

test('a key is shown once; by default it has all scopes and never expires', async () => {
  await runCli(['accounts', 'create', 'Keys'])
  const { key, ...shown } = await json('keys', 'create', 'all', '--account', 'Keys')
  expect(shown).toEqual({
    key_id: expect.stringMatching(/^key_\w{26}$/),
    account_id: expect.stringMatching(/^acc_\w{26}$/),
    name: 'all',
    hint: key.slice(0, 13),
    kind: 'live',
    scopes: SCOPES,
    created_by: null,
    created_at: expect.any(String),
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
  })
  expect(await json('keys', 'list', '--account', 'Keys')).toEqual({ keys: [shown] })
  const scopes = ['--scopes', 'events.read, emails.read', '--expires', '90d', '--test']
  const reader = await json('keys', 'create', 'reader', '--account', 'Keys', ...scopes)
  expect(reader).toMatchObject({ kind: 'test', scopes: ['events.read', 'emails.read'] })
  expect((Date.parse(reader.expires_at) - Date.now()) / 86_400_000).toBeCloseTo(90, 1)
  const list = await textOf('keys', 'list', '--account', 'Keys')
  expect(list).toMatch(/all +svc_live_\w{4}\.\.\. +live .*\n.*reader +svc_test_\w{4}\.\.\. +test until \d{4}/)
  expect(list).not.toContain(key)
})

test('an installation is named once as a cell, and says which names its keys have', async () => {
  const own = await testDatabase()
  set({ DATABASE_URL: own.url })
  expect(await textOf('cell')).toBe('This installation is not a cell. Name it: verdict cell <name>')
  await runCli(['accounts', 'create', 'Cell'])
  const { key: before } = await json('keys', 'create', 'before')
  expect(await textOf('cell', 'b2')).toContain(`so no other cell may have them: ${before.slice(9, 11)}`)
  const { key } = await json('keys', 'create', 'after')
  expect(key).toMatch(/^svc_live_b2/)
  expect(await json('cell')).toEqual({ cell: 'b2', names_in_keys: [before.slice(9, 11), 'b2'].sort() })
})

test('a test key has the scopes to send and to read; a request for more is refused with the reason', async () => {
  await runCli(['accounts', 'create', 'Test keys'])
  const account = ['--account', 'Test keys', '--test']
  expect((await json('keys', 'create', 'ci', ...account)).scopes).toEqual(SCOPES_OF.test)
  await expect(
    runCli(['keys', 'create', 'ci', ...account, '--scopes', 'emails.send,domains.write']),
  ).rejects.toMatchObject({
    exit: 'usage',
    message: expect.stringContaining(
      'A test key cannot have domains.write: it changes nothing that live mail depends on.',
    ),
  })
})

test('a revoked key stays in the list, marked as revoked', async () => {
  await runCli(['accounts', 'create', 'Revoked'])
  const { key_id } = await json('keys', 'create', 'old', '--account', 'Revoked')
  expect((await json('keys', 'revoke', key_id, '--account', 'Revoked')).revoked_at).not.toBeNull()
  expect(await textOf('keys', 'list', '--account', 'Revoked')).toMatch(/old .* revoked \d{4}-/)
})

test('a key is revoked in its own account only', async () => {
  await runCli(['accounts', 'create', 'Own'])
  await runCli(['accounts', 'create', 'Foreign'])
  const { key_id } = await json('keys', 'create', 'own', '--account', 'Own')
  for (const id of [key_id, publicId('key', newId(Date.now()))]) {
    await expect(runCli(['keys', 'revoke', id, '--account', 'Foreign'])).rejects.toMatchObject({ exit: 'not_found' })
  }
  expect((await json('keys', 'list', '--account', 'Own')).keys[0].revoked_at).toBeNull()
})

test('a domain is added, its records are published, then it may send', async () => {
  await runCli(['accounts', 'create', 'Publisher'])
  set({ SMTP_SOURCE_ADDRESSES: '192.0.2.25', SMTP_HELO_NAME: 'mail.verdict.example' })
  const add = ['domains', 'add', 'Pub.Example', '--account', 'Publisher']
  const pending = await json(...add)
  expect(pending).toMatchObject({ domain: 'pub.example', status: 'pending', verified_at: null, require_tls: false })
  expect(pending.dkim_keys).toEqual([
    { selector: expect.stringMatching(/^v\d{8}-[0-9a-f]{8}$/), state: 'active', key_bits: 2048, retires_at: null },
  ])
  const dkim = `${pending.dkim_keys[0].selector}._domainkey.pub.example`
  expect(pending.records.map(({ record, host }: Record<string, string>) => [record, host])).toEqual([
    ['SPF', 'rp.pub.example'],
    ['RETURN_PATH', 'rp.pub.example'],
    ['DKIM', dkim],
    ['DMARC', '_dmarc.pub.example'],
  ])
  const instructions = await textOf(...add)
  expect(instructions).toContain('rp.pub.example.  TXT  "v=spf1 ip4:192.0.2.25 -all"')
  expect(instructions).toContain('rp.pub.example.  MX  10 mail.verdict.example.')
  expect(instructions).toContain(`${dkim}.  TXT  "v=DKIM1; k=rsa; p=`)
  expect(instructions).toContain('Then: verdict domains verify pub.example')
  const verified = await json(...add, '--verified')
  expect(verified).toMatchObject({ domain_id: pending.domain_id, status: 'verified', records: pending.records })
  expect(await textOf('domains', 'list', '--account', 'Publisher')).toMatch(/pub\.example +verified/)
})

test('an account is created with a tier, and with no tier that does not exist', async () => {
  expect(await json('accounts', 'create', 'Tiered', '--tier', 'pro')).toMatchObject({ name: 'Tiered', tier: 'pro' })
  expect(await json('accounts', 'create', 'Usual', '--tier', 'default')).toMatchObject({ tier: null })
  await expect(runCli(['accounts', 'create', 'Golden', '--tier', 'gold'])).rejects.toThrow('There is no tier gold')
  expect(await textOf('accounts', 'list')).not.toContain('Golden')
})

test('a record that the service does not know yet names the missing variable', async () => {
  await runCli(['accounts', 'create', 'Unknown'])
  set({ NODE_ENV: 'production', SMTP_HELO_NAME: 'localhost' })
  const instructions = await textOf('domains', 'add', 'unknown.example', '--account', 'Unknown')
  expect(instructions).toContain('RETURN_PATH: The service does not know the full name of its mail server yet')
  expect(instructions).toContain('its operator sets SMTP_HELO_NAME.')
  expect(instructions).not.toContain('rp.unknown.example.  MX')
})

test('with a return path host, a domain owner publishes one CNAME, and the operator publishes its target once', async () => {
  await runCli(['accounts', 'create', 'Hosted'])
  set({ SMTP_SOURCE_ADDRESSES: '192.0.2.25', SMTP_HELO_NAME: 'mail.verdict.example' })
  set({ RETURN_PATH_HOST: 'bounces.verdict.example' })
  const instructions = await textOf('domains', 'add', 'hosted.example', '--account', 'Hosted')
  expect(instructions).toContain('  rp.hosted.example.  CNAME  bounces.verdict.example.\n')
  expect(instructions).toMatch(
    /You publish once, for all domains:\n\n {2}bounces\.verdict\.example\. {2}TXT {2}"v=spf1 /,
  )
  expect(instructions).toContain('  bounces.verdict.example.  MX  10 mail.verdict.example.\n')
})

test('a domain is shown, gets a next key, and is removed', async () => {
  await runCli(['accounts', 'create', 'Keeper'])
  const of = ['--account', 'Keeper']
  await runCli(['domains', 'add', 'kept.example', ...of])
  const shown = await textOf('domains', 'show', 'Kept.Example.', ...of)
  expect(shown).toMatch(/^kept\.example is pending\.\n\n/)
  expect(shown).toMatch(/\nDMARC: pending\n {2}_dmarc\.kept\.example\. {2}TXT {2}"v=DMARC1; p=none"\n/)
  const rotated = await runCli(['domains', 'rotate', 'kept.example', ...of])
  const [active, next] = (rotated.json as { dkim_keys: { selector: string; state: string }[] }).dkim_keys
  expect([active, next]).toMatchObject([{ state: 'active' }, { state: 'next' }])
  expect(rotated.text).toContain(`  ${next!.selector}._domainkey.kept.example.  TXT  "v=DKIM1; k=rsa; p=`)
  expect(await json('domains', 'rotate', 'kept.example', ...of)).toEqual(JSON.parse(JSON.stringify(rotated.json)))
  expect(await textOf('domains', 'show', 'kept.example', ...of)).toContain(`  ${next!.selector} is next`)
  expect(await textOf('domains', 'list', ...of)).toContain(`${active!.selector}, ${next!.selector} (next)`)
  expect(await textOf('domains', 'remove', 'kept.example', ...of)).toBe('Removed kept.example.')
  expect(await textOf('domains', 'list', ...of)).toBe('The account has no domain.')
})

test('a domain is verified by what DNS has, and the report names what is missing', async () => {
  const { address, zone, close } = await startDns({})
  await runCli(['accounts', 'create', 'Verifier'])
  set({ SMTP_SOURCE_ADDRESSES: '192.0.2.25', SMTP_HELO_NAME: 'mail.verdict.example', DNS_SERVERS: address })
  const of = ['--account', 'Verifier']
  const { records } = await json('domains', 'add', 'right.example', ...of)
  const missing = await runCli(['domains', 'verify', 'right.example', ...of])
  expect(missing).toMatchObject({ exit: 'failed', json: { status: 'pending' } })
  expect(missing.text).toMatch(
    /\nDMARC: failed\n {2}_dmarc\.right\.example\. {2}TXT .*\n {2}There is no .*\n {2}checked at /,
  )

  for (const { type, host, value } of records as Record<'type' | 'host' | 'value', string>[]) {
    const data = type === 'MX' ? { preference: 10, exchange: value.slice(3) } : stringsOf(value)
    zone[`${type} ${host}`] = [{ type, name: host, ttl: 300, data }] as never
  }
  await database.db.update(domains).set({ checkedAt: null })
  const right = await runCli(['domains', 'verify', 'right.example', ...of])
  await close()
  expect(right.text).toMatch(
    /^right\.example is verified\.\n\nSPF: verified\n.*\n {2}observed: "v=spf1 ip4:192\.0\.2\.25 -all"/,
  )
  expect(right).toMatchObject({ exit: 'ok', json: { status: 'verified' } })
})

test('a domain is found in its own account only', async () => {
  await runCli(['accounts', 'create', 'Owner'])
  await runCli(['accounts', 'create', 'Another'])
  await runCli(['domains', 'add', 'owned.example', '--account', 'Owner'])
  for (const [command, name] of [
    ['show', 'owned.example'],
    ['verify', 'owned.example'],
    ['rotate', 'owned.example'],
    ['remove', 'owned.example'],
    ['show', 'not a name'],
  ] as const) {
    const result = runCli(['domains', command, name, '--account', 'Another'])
    await expect(result).rejects.toMatchObject({
      exit: 'not_found',
      message: `The account has no domain ${name}. See: verdict domains list`,
    })
  }
  expect(await json('domains', 'list', '--account', 'Owner')).toMatchObject({ domains: [{ dkim_keys: [{}] }] })
})

test.each<[why: string, args: string[], part: string]>([
  ['no command', [], 'Usage: verdict <command>'],
  ['an unknown command', ['frobnicate'], "verdict: unknown command 'frobnicate'\nSee: verdict --help"],
  ['a group without a command', ['keys'], 'revoke [options] <key_id>'],
  [
    'an unknown option',
    ['keys', 'list', '--acount', 'x'],
    "unknown option '--acount'\n(Did you mean --account?)\nSee: verdict keys list --help",
  ],
  ['a missing argument', ['accounts', 'create'], "missing required argument 'name'"],
  ['an empty argument', ['keys', 'revoke', ''], 'verdict keys revoke: an argument is empty'],
  ['an argument too many', ['accounts', 'list', 'all'], 'Expected 0 arguments but got 1'],
  ['missing options', ['send', '--text', 'Hi'], 'missing required options: --from, --to, --subject'],
  ['missing options of another command', ['suppression', 'lift'], 'missing required options: --from, --to\nSee:'],
  [
    'an option in place of a value',
    'send --from a@b.example --to c@d.example --subject Hi --text --sandbox'.split(' '),
    'verdict send: the value before --sandbox is missing',
  ],
  ['an unknown scope', ['keys', 'create', 'x', '--scopes', 'emails.send,all'], 'No such scope: all.'],
  ['a time in the past', ['keys', 'create', 'x', '--expires', '2020-01-01'], 'must be a time in the future'],
  ['a number without a unit', ['keys', 'create', 'x', '--expires', '90'], 'must be a time in the future'],
  ['a key in place of its id', ['keys', 'revoke', 'svc_live_1'], 'is not the id of a key'],
  ['a cell of three characters', ['cell', 'abc'], 'it needs two letters or digits, such as b2'],
  ['a cell of other characters', ['cell', 'b-'], 'it needs two letters or digits, such as b2'],
  [
    'a name that cannot be a domain',
    ['domains', 'add', 'localhost'],
    'localhost is a single label. Expected a domain name',
  ],
])('%s is a usage error whose message says what is expected', async (_, args, part) => {
  await expect(runCli(args)).rejects.toMatchObject({ exit: 'usage', message: expect.stringContaining(part) })
})

/** The names in the lists of commands that a help prints. */
async function listedCommands(...path: string[]): Promise<string[]> {
  const help = await textOf(...path, '--help')
  const commands = help.replace(/^Arguments:\n.*?\n\n/ms, '')
  const names = [...commands.matchAll(/^ {2}([a-z][a-z-]*)(?: \[options\])?(?: (?:<\w+>|\[\w+\]))? {2,}[A-Z]/gm)]
  return names.map(([, name]) => name!).filter((name) => name !== 'help')
}

test('the help of every command has examples', async () => {
  const names = await listedCommands()
  expect(names).toHaveLength(29)
  const commands = await Promise.all(
    names.map(async (name) => {
      const subcommands = await listedCommands(name)
      return subcommands.length > 0 ? subcommands.map((subcommand) => [name, subcommand]) : [[name]]
    }),
  )
  expect(commands.flat()).toHaveLength(59)
  for (const path of commands.flat()) {
    const name = path.join(' ')
    const pattern = new RegExp(`^Usage: verdict ${name}.*Examples:\n.*verdict ${name}`, 's')
    expect(await textOf(...path, '--help')).toMatch(pattern)
  }
})

test('help can be printed as JSON', async () => {
  expect(await json('send', '--help')).toEqual({ help: await textOf('send', '--help') })
})

test('the help explains the exit codes', async () => {
  expect(await textOf('help')).toMatch(
    /Exit codes:\n {2}0 {3}success.*\n {2}1 .*\n {2}2 .*\n {2}3 .*\n {2}4 .*\n {2}69 .*\n {2}78 /,
  )
})

test('the message about an invalid variable has an example', async () => {
  set({ ENCRYPTION_KEYS: 'k1:short' })
  await expect(runCli(['domains', 'add', 'a.example'])).rejects.toMatchObject({
    exit: 'configuration',
    message: expect.stringContaining(
      'ENCRYPTION_KEYS must be keys, each an id, a colon and 32 bytes in base64. Example:',
    ),
  })
})

test('by default commands use the instance that npm start runs here', async () => {
  const dataDir = mkdtempSync(join(folder, 'data-'))
  writeFileSync(join(dataDir, 'database.json'), JSON.stringify({ url: database.url }))
  writeFileSync(join(dataDir, 'encryption.keys'), `k1:${secret}`)
  set({ DATABASE_URL: '', ENCRYPTION_KEYS: '', DATA_DIR: dataDir })
  expect(await json('accounts', 'create', 'Here')).toMatchObject({ name: 'Here' })
  expect(await json('domains', 'add', 'here.example', '--account', 'Here')).toMatchObject({ domain: 'here.example' })
})

test('the doctor checks a set-up and says what is wrong', async () => {
  await runCli(['accounts', 'create', 'Patient'])
  await runCli(['domains', 'add', 'patient.example', '--account', 'Patient'])
  // The day may have ended since the template of the database was made.
  await makePartitions(database.db, 1)
  const well = await runCli(['doctor'])
  expect(well).toMatchObject({ exit: 'ok', json: { state: 'ok' } })
  expect(well.text).toMatch(/^ {2}ok {7}database +PostgreSQL \d[\s\S]*^ {2}skipped {2}temporal [\s\S]*^All is well: /m)
  set({ DATA_REGIO: 'eu' })
  expect(await runCli(['doctor'])).toMatchObject({ exit: 'warned', json: { state: 'warning' } })
  set({ ENCRYPTION_KEYS: `k2:${secret}`, PORT: 'http' })
  const ill = await json('doctor')
  expect(ill.checks.filter(({ state }: { state: string }) => state === 'failed')).toMatchObject([
    { group: 'Configuration', name: 'variables', seen: 'PORT must be a whole number from 0 to 65535' },
    { group: 'Database', name: 'secrets', seen: expect.stringContaining('"k1" is lost'), way_out: expect.anything() },
  ])
  expect((await runCli(['doctor'])).exit).toBe('failed')
})

test('secrets are sealed with the first key; a secret that no key opens is a failure', async () => {
  await runCli(['accounts', 'create', 'Sealed'])
  await runCli(['domains', 'add', 'sealed.example', '--account', 'Sealed'])
  const progress = vi.spyOn(console, 'error').mockReturnValue()
  const fresh = `k9:${randomBytes(32).toString('base64')}`
  set({ ENCRYPTION_KEYS: fresh })
  const ill = await runCli(['secrets', 'rotate'])
  expect(ill).toMatchObject({ exit: 'failed', json: { key: 'k9', resealed: 0 } })
  expect(ill.text).toMatch(
    /ENCRYPTION_KEYS does not name: "k1"\n\d+ still need an older key\. Add it to ENCRYPTION_KEYS/,
  )
  set({ ENCRYPTION_KEYS: `${fresh},k1:${secret}` })
  expect(await textOf('doctor')).toMatch(
    /ok +secrets +(\d+) of \1 are sealed with an older key than k9:\s+verdict\s+secrets/,
  )
  const well = await runCli(['secrets', 'rotate'])
  expect(well).toMatchObject({ exit: 'ok', json: { older: 0, faults: [] } })
  expect(well.text).toMatch(/^Sealed (\d+) of \1 stored secrets with the key k9\.\nNo secret needs an older key\.$/)
  expect(progress).toHaveBeenLastCalledWith(expect.stringMatching(/^(\d+) of \1$/))
  set({ ENCRYPTION_KEYS: `k1:${secret},${fresh}` })
  expect(await runCli(['secrets', 'rotate'])).toMatchObject({ exit: 'ok' })
  progress.mockRestore()
})

test('a database without tables has a message of its own', async () => {
  const { pathname } = new URL(database.url)
  set({ DATABASE_URL: database.url.replace(pathname, '/postgres') })
  expect(await textOf('doctor')).toMatch(/failed +migrations +The database has no tables of Verdict\n.*npm run migrate/)
})

/** Sends the same response to every request and keeps the requests. */
async function service(status: number, body: string) {
  const requests: { method?: string; url?: string; headers: IncomingMessage['headers']; body: string }[] = []
  const server = createServer(async (request, response) => {
    requests.push({ method: request.method, url: request.url, headers: request.headers, body: await text(request) })
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  set({ VERDICT_URL: `http://127.0.0.1:${await listenUntilEnd(server)}/`, VERDICT_API_KEY: 'svc_live_x' })
  return requests
}

const sending = 'send --from a@shop.example --to b@r.example --to c@r.example --subject Hi --text Hi'.split(' ')

test("send calls the service with the key in VERDICT_API_KEY, and shows the reply of the recipient's server", async () => {
  const delivered = { status: 'delivered', message_id: 'msg_1', smtp: { mx: 'mx.r.example', code: 250, reply: 'OK' } }
  const requests = await service(200, JSON.stringify(delivered))
  expect(await runCli([...sending, '--sandbox'])).toEqual({
    json: delivered,
    text: `msg_1: delivered\n    mx.r.example replied 250 OK\n${process.env.VERDICT_URL}dashboard/messages/msg_1`,
    exit: 'ok',
  })
  expect(requests).toMatchObject([
    {
      method: 'POST',
      url: '/api/v1/emails/send',
      headers: { authorization: 'Bearer svc_live_x', 'x-service-sandbox': 'true' },
    },
  ])
  expect(JSON.parse(requests[0]!.body)).toEqual({
    from: 'a@shop.example',
    to: ['b@r.example', 'c@r.example'],
    subject: 'Hi',
    text: 'Hi',
  })
})

test('send takes every field of a message, and an idempotency key', async () => {
  const file = join(folder, 'Rechnung März.txt')
  writeFileSync(file, 'Hello')
  const requests = await service(200, JSON.stringify({ status: 'delivered', message_id: 'msg_1' }))
  const options = {
    '--cc': ['Ann Lee <ann@r.example>', 'd@r.example'],
    '--bcc': ['e@r.example'],
    '--reply-to': ['help@shop.example', '"Lee, Ann" <ann@shop.example>'],
    '--header': ['X-Order: 7: a', 'List-Unsubscribe: <https://shop.example/u?a=b>'],
    '--metadata': ['order=7=a', 'empty='],
    '--tag': ['receipt'],
    '--tenant': ['shop-1'],
    '--retry-of': ['msg_01jx3c7w5fe9c8m0t1q2r3s4v5'],
    '--attach': [file],
    '--idempotency-key': ['order-7'],
  }
  await runCli([...sending, ...Object.entries(options).flatMap(([option, values]) => [option, ...values])])
  const [request] = requests
  expect(request!.headers['idempotency-key']).toBe('order-7')
  expect(JSON.parse(request!.body)).toEqual({
    from: 'a@shop.example',
    to: ['b@r.example', 'c@r.example'],
    subject: 'Hi',
    text: 'Hi',
    cc: options['--cc'],
    bcc: options['--bcc'],
    reply_to: options['--reply-to'],
    headers: { 'X-Order': '7: a', 'List-Unsubscribe': '<https://shop.example/u?a=b>' },
    metadata: { order: '7=a', empty: '' },
    tag: 'receipt',
    tenant_id: 'shop-1',
    retry_of: 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5',
    attachments: [{ filename: 'Rechnung März.txt', content: Buffer.from('Hello').toString('base64') }],
  })
})

test('send --raw sends a whole message, without a sender and a subject of its own', async () => {
  const file = join(folder, 'message.eml')
  writeFileSync(file, 'From: a@shop.example\r\n\r\nHi\r\n')
  const requests = await service(200, JSON.stringify({ status: 'delivered', message_id: 'msg_1' }))
  await runCli(['send', '--raw', file, '--to', 'b@r.example'])
  expect(JSON.parse(requests[0]!.body)).toEqual({
    to: ['b@r.example'],
    raw: Buffer.from('From: a@shop.example\r\n\r\nHi\r\n').toString('base64'),
  })
})

test('send --calendar takes the method from the calendar, and --attach a media type behind the file', async () => {
  const invite = join(folder, 'invite.ics')
  writeFileSync(invite, 'BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nEND:VCALENDAR\r\n')
  const requests = await service(200, JSON.stringify({ status: 'delivered', message_id: 'msg_1' }))
  await runCli([
    ...sending,
    '--auto-text',
    '--calendar',
    invite,
    '--attach',
    `${invite};type=text/plain; charset=utf-8`,
  ])
  expect(JSON.parse(requests[0]!.body)).toMatchObject({
    auto_text: true,
    attachments: [
      { filename: 'invite.ics', content_type: 'text/plain; charset=utf-8' },
      { filename: 'invite.ics', content_type: 'text/calendar; method=REQUEST' },
    ],
  })
  writeFileSync(invite, 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n')
  await expect(runCli([...sending, '--calendar', invite])).rejects.toMatchObject({ exit: 'usage' })
})

test.each([
  [
    'a header without a colon',
    ['--header', 'X-Order'],
    '--header X-Order: the : is missing. Expected --header "X-Order: 1234"',
  ],
  ['a header given twice', ['--header', 'X-A: 1', '--header', 'X-A: 2'], '--header X-A: 2: X-A is given twice.'],
  ['metadata without a key', ['--metadata', '=7'], '--metadata =7: the = is missing. Expected --metadata order=1234'],
  ['a key beyond ASCII', ['--idempotency-key', 'заказ'], '--idempotency-key must be 1 to 256 printable ASCII'],
  ['a file that does not exist', ['--attach', '/nowhere/a.pdf'], '--attach /nowhere/a.pdf: cannot be read: ENOENT'],
])('send with %s sends nothing and says what is wrong', async (_, options, message) => {
  const requests = await service(200, '{}')
  const failure = { exit: 'usage', message: expect.stringContaining(message) }
  await expect(runCli([...sending, ...options])).rejects.toMatchObject(failure)
  expect(requests).toEqual([])
})

test('a bounce is a failure, with the outcome of each recipient', async () => {
  const outcomes = [
    { email: 'b@r.example', status: 'bounced', reason: 'connection_timeout', in_doubt: true },
    { email: 'c@r.example', kind: 'bcc', status: 'delivered' },
  ]
  await service(
    200,
    JSON.stringify({ status: 'bounced', reason: 'connection_timeout', message_id: 'msg_1', recipients: outcomes }),
  )
  const { exit, text } = await runCli(sending)
  expect(exit).toBe('failed')
  expect(text).toBe(`msg_1: bounced, connection_timeout
  b@r.example: bounced, connection_timeout (in doubt: it may have arrived)
  c@r.example (bcc): delivered
${process.env.VERDICT_URL}dashboard/messages/msg_1`)
})

test.each([
  [
    401,
    { error: 'invalid_api_key', message: 'No.', request_id: 'req_1' },
    'failed',
    'invalid_api_key: No. (request req_1)',
  ],
  [404, { error: 'not_found', message: 'No such path.' }, 'not_found', 'not_found: No such path.'],
  [500, { error: 'transient_failure', message: 'Retry.' }, 'unavailable', 'transient_failure: Retry.'],
])('the message about a response of %i is that of the service', async (status, body, exit, message) => {
  await service(status, JSON.stringify(body))
  await expect(runCli(sending)).rejects.toMatchObject({ exit, message })
})

test('the message says when the server is not Verdict, or is not there', async () => {
  await service(200, '<html>')
  await expect(runCli(sending)).rejects.toMatchObject({
    exit: 'failed',
    message: expect.stringContaining('is not Verdict'),
  })
  await expect(runCli(['status', '--url', 'http://127.0.0.1:2'])).rejects.toMatchObject({
    exit: 'unavailable',
    message: 'http://127.0.0.1:2 cannot be reached: connect ECONNREFUSED 127.0.0.1:2',
  })
  await expect(runCli(['status', '--url', 'localhost'])).rejects.toMatchObject({ exit: 'usage' })
})

test('events are listed by filters, with the cursor of the next page', async () => {
  const event = {
    event: 'email.delivery',
    event_id: 'evt_1',
    message_id: 'msg_1',
    status: 'bounced',
    reason: 'mailbox_full',
    recipient: 'b@r.example',
    timestamp: '2026-01-01T00:00:00.000Z',
    attempts: 0,
  }
  const requests = await service(200, JSON.stringify({ events: [event], next_cursor: 'abc', has_more: true }))
  const list = await textOf('events', '--status', 'bounced', '--recipient', 'b+x@r.example')
  expect(list).toMatch(/\n2026-01-01T00:00:00\.000Z {2}bounced {2}mailbox_full {2}b@r\.example/)
  expect(list).toContain('More: --cursor abc')
  expect(requests[0]!.url).toBe('/api/v1/events?status=bounced&recipient=b%2Bx%40r.example')
})

test('status shows whether the service is ready', async () => {
  await service(200, JSON.stringify({ status: 'ready', version: '1.2.3', region: 'eu', checks: { database: 'ok' } }))
  expect(await runCli(['status'])).toMatchObject({
    exit: 'ok',
    text: 'ready, version 1.2.3, region eu\n  database: ok',
  })
  await service(503, JSON.stringify({ status: 'not_ready', checks: { database: 'failed' } }))
  expect(await runCli(['status'])).toMatchObject({ exit: 'failed', json: { status: 'not_ready' } })
})

test('the key of the development instance is sent to no other service', async () => {
  const dataDir = mkdtempSync(join(folder, 'data-'))
  writeFileSync(join(dataDir, 'keys.json'), JSON.stringify({ live: 'svc_live_dev', test: 'svc_test_dev' }))
  const requests = await service(200, '{"events":[]}')
  set({ VERDICT_API_KEY: '', DATA_DIR: dataDir })
  await expect(runCli(['events'])).rejects.toMatchObject({ exit: 'configuration' })
  expect(requests).toEqual([])
})

test('an instance of npm start on another port is found in its folder', async () => {
  const requests = await service(200, '{"events":[],"has_more":false}')
  const dataDir = mkdtempSync(join(folder, 'data-'))
  writeFileSync(join(dataDir, 'instance.json'), JSON.stringify({ url: process.env.VERDICT_URL }))
  writeFileSync(join(dataDir, 'keys.json'), JSON.stringify({ live: 'svc_live_dev', test: 'svc_test_dev' }))
  set({ VERDICT_URL: '', VERDICT_API_KEY: '', DATA_DIR: dataDir })
  await runCli(['events'])
  expect(requests[0]!.headers.authorization).toBe('Bearer svc_live_dev')
})

test('the version is printed', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  for (const args of [['--version'], ['-V'], ['version']])
    expect(await runCli(args)).toEqual({ json: { version }, text: version })
})

test.each([
  ['sned', 'send', 'verdict'],
  ['domain list', 'domains', 'verdict'],
  ['domains ad', 'add', 'verdict domains'],
  ['webhooks test', 'webhook', 'verdict'],
  ['docter', 'doctor', 'verdict'],
])('the message about the unknown command %s suggests %s, and the help of %s', async (typed, meant, parent) => {
  await expect(runCli(typed.split(' '))).rejects.toMatchObject({
    exit: 'usage',
    message: expect.stringMatching(
      new RegExp(`^${parent}: unknown command '\\w+'\n\\(Did you mean ${meant}\\?\\)\nSee: ${parent} --help$`),
    ),
  })
})

test('an id or another word that is like no command of a group is answered with those that destroy nothing', async () => {
  let groups = 0
  for (const group of await listedCommands()) {
    const inner = await listedCommands(group)
    if (inner.length === 0) continue
    const error = await runCli([group, 'msg_0123']).catch((error) => error)
    // Others are commands themselves, which take the word as their argument.
    if (!error.message.includes('unknown command')) continue
    groups++
    expect(error.exit).toBe('usage')
    const known = /^\(Known: (.+)\)$/m.exec(error.message)?.[1]?.split(', ') ?? []
    expect(known).toEqual(expect.arrayContaining(inner.filter((name) => !DESTROYING.includes(name))))
    expect(known.filter((name) => DESTROYING.includes(name))).toEqual([])
  }
  expect(groups).toBeGreaterThan(7)
})

test('no mistyped command is answered with a command that destroys', async () => {
  const all: [string[], string][] = []
  for (const name of await listedCommands())
    for (const inner of [undefined, ...(await listedCommands(name))]) all.push(inner ? [[name], inner] : [[], name])
  const mistyped = (name: string) => Array.from(name, (_, i) => name.slice(0, i) + name.slice(i + 1))
  expect(all.map(([, name]) => name)).toEqual(expect.arrayContaining(DESTROYING))
  for (const [parents, name] of all) {
    for (const typed of [...mistyped(name), `${name}s`]) {
      if (all.some(([others, other]) => other === typed && `${others}` === `${parents}`)) continue
      const message: string = await runCli([...parents, typed]).then(
        () => '',
        (error) => error.message,
      )
      const suggested = /\(Did you mean (?:one of )?(.+)\?\)/.exec(message)?.[1]?.split(', ') ?? []
      expect(suggested.filter((one) => DESTROYING.includes(one))).toEqual([])
    }
  }
})

test('the message about a mistyped option names it, whatever else is missing', async () => {
  for (const name of await listedCommands()) {
    const inner = await listedCommands(name)
    for (const path of inner.length > 0 ? inner.map((one) => [name, one]) : [[name]]) {
      const listed = [...(await textOf(...path, '--help')).matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)]
      for (const [, option] of listed) {
        const mistyped = `${option!.slice(0, -1)}x${option!.slice(-1)}`
        for (const rest of [[], ['x']]) {
          await expect(runCli([...path, mistyped, ...rest])).rejects.toMatchObject({
            exit: 'usage',
            message: expect.stringContaining(`unknown option '${mistyped}'`),
          })
        }
      }
    }
  }
})

test('the reason of a resume is one for the audit log', async () => {
  const resume = (reason: string) => runCli(['domains', 'resume', 'example.com', '--reason', reason])
  await expect(resume(' ')).rejects.toMatchObject({ exit: 'usage', message: expect.stringContaining('is required') })
  await expect(resume('a\u202eb')).rejects.toMatchObject({
    message: expect.stringContaining('must not contain U+202E'),
  })
})

test('a group without a command prints its help', async () => {
  await expect(runCli(['domains'])).rejects.toMatchObject({ exit: 'usage', message: await textOf('domains', '--help') })
  expect(await listedCommands('domains')).toEqual(['add', 'list', 'show', 'verify', 'rotate', 'resume', 'remove'])
})

test('an error of the API has its code, request id and details in JSON', async () => {
  const body = {
    error: 'invalid_payload',
    message: 'subject is required.',
    request_id: 'req_1',
    details: [{ field: 'subject', message: 'is required' }],
  }
  await service(400, JSON.stringify(body))
  await expect(runCli(sending)).rejects.toMatchObject({ exit: 'failed', json: body })
})

test('the message says when TLS meets a plain port, and the reverse', async () => {
  await service(200, '{}')
  const plain = new URL(process.env.VERDICT_URL!).host
  await expect(runCli(['status', '--url', `https://${plain}`])).rejects.toMatchObject({
    exit: 'unavailable',
    message: expect.stringContaining(`the port speaks plain HTTP, not HTTPS. Use http://${plain}`),
  })
  const server = createTlsServer({ cert: CERTIFICATE.cert, key: CERTIFICATE.key })
  const secure = `127.0.0.1:${await listenUntilEnd(server)}`
  await expect(runCli(['status', '--url', `http://${secure}`])).rejects.toMatchObject({
    exit: 'unavailable',
    message: expect.stringContaining(`use https://${secure}`),
  })
})

test('the package has a scope, because its plain name belongs to someone else on the public registry', () => {
  const { name, bin } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(name).toBe('@verdict/server')
  expect(bin).toEqual({ verdict: 'cli/bin.mjs' })
})
