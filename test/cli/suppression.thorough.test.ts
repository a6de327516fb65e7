import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCli } from '../../cli/run.ts'
import { listenUntilEnd, temporaryFolder } from '../harness/until-end.ts'
import { startApi } from '../services/api.ts'

// The commands against the whole API.

const BIN = fileURLToPath(new URL('../../cli/bin.mjs', import.meta.url))
let progress: string[]

const api = await startApi()
const folder = temporaryFolder()
beforeEach(() => {
  const [{ options }] = [api.world.db.$client]
  const [host, port] = [options.host[0], options.port[0]]
  vi.stubEnv('DATABASE_URL', `postgres://${options.user}:${options.pass ?? ''}@${host}:${port}/${options.database}`)
  vi.stubEnv('ENCRYPTION_KEYS', `k1:${Buffer.alloc(32).toString('base64')}`)
  vi.stubEnv('VERDICT_URL', api.url)
  vi.stubEnv('VERDICT_API_KEY', api.keys.live)
  progress = []
  vi.spyOn(console, 'error').mockImplementation((line) => void progress.push(line))
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

const IMPORT_ID = expect.stringMatching(/^imp_[0-9a-z]{26}$/)

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const entriesOf = async (email: string) =>
  (await api.call('GET', `/api/v1/suppression?email=${encodeURIComponent(email)}`)).json.entries

test('import reads one address a line, and says which lines it skipped and why', async () => {
  const list = file('list.txt', '\ufeffann@lines.example\r\n\r\n  Bob@lines.example  \nno address\nANN@lines.example')
  expect(await runCli(['import', list])).toEqual({
    json: {
      imported: 2,
      already_suppressed: 1,
      invalid: 1,
      total: 4,
      import_id: IMPORT_ID,
      errors: [{ line: 4, email: 'no address', error: 'invalid_address' }],
      understood: { column: '1', rows: 4, own_domains: {} },
    },
    text: expect.stringMatching(
      /^2 imported, 1 already suppressed, 1 skipped\n {2}line 4: invalid_address: "no address"\nUndo it: verdict suppression undo imp_\w{26}$/,
    ),
    exit: 'failed',
  })
  expect(await entriesOf('bob@lines.example')).toMatchObject([{ scope: 'account', reason: 'import' }])
})

test('import reads the column of addresses of a CSV file, without the heading', async () => {
  const csv = file('list.csv', 'Email,Name\n"ann@csv.example","Lee,\nAnn"\nbob@csv.example,Bob\ncy@csv.example,Cy\n')
  const { json, exit } = await runCli(['import', csv, '--tenant', 'shop-1', '--reason', 'complaint'])
  expect({ json, exit }).toMatchObject({ json: { imported: 3, total: 3 }, exit: 'ok' })
  const entry = { scope: 'tenant', tenant_id: 'shop-1', reason: 'complaint' }
  for (const name of ['ann', 'bob', 'cy']) expect(await entriesOf(`${name}@csv.example`)).toMatchObject([entry])
})

test('import takes the column that is named, and refuses a file without it', async () => {
  const csv = file('columns.csv', 'sender,to whom\nshop@columns.example,"ann@columns.example"\n')
  expect(await runCli(['import', csv, '--column', 'To Whom'])).toMatchObject({
    json: { imported: 1, total: 1 },
    exit: 'ok',
  })
  expect(await entriesOf('ann@columns.example')).toHaveLength(1)
  expect(await entriesOf('shop@columns.example')).toHaveLength(0)
})

test('a list of more than 10,000 addresses takes several requests, with the progress on stderr', async () => {
  const lines = Array.from({ length: 20_001 }, (_, i) => (i === 15_000 ? 'nobody' : `${i}@long.example`))
  const { json } = await runCli(['import', file('long.txt', `${lines.join('\n')}\n`)])
  expect(json).toEqual({
    imported: 20_000,
    already_suppressed: 0,
    invalid: 1,
    total: 20_001,
    import_id: IMPORT_ID,
    errors: [{ line: 15_001, email: 'nobody', error: 'invalid_address' }],
    understood: { column: '1', rows: 20_001, own_domains: {} },
  })
  expect(progress).toEqual([
    '20001 rows, addresses in column 1',
    '10000 read, up to line 10000',
    '20000 read, up to line 20000',
    '20001 read, up to line 20001',
  ])
})

test('import reads the standard input', async () => {
  const env = { VERDICT_URL: api.url, VERDICT_API_KEY: api.keys.live }
  const child = spawn(process.execPath, [BIN, 'import', '-', '--json'], { env, cwd: folder })
  child.stdin.end('ann@stdin.example\nbob@stdin.example\n')
  const [[code], stdout] = await Promise.all([once(child, 'close'), text(child.stdout)])
  expect({ code, json: JSON.parse(stdout) }).toMatchObject({ code: 0, json: { imported: 2, total: 2 } })
})

test('an import that fails halfway says how far it came, and which lines were invalid', async () => {
  const ERROR = { index: 1, email: 'nobody', error: 'invalid_address' }
  let requests = 0
  const server = createServer(({ url }, response) => {
    if (url === '/api/v1/domains') return response.end('{"domains":[]}')
    const responses = [
      [200, { imported: 9_999, already_suppressed: 0, invalid: 1, total: 10_000, errors: [ERROR] }],
      [500, { error: 'transient_failure', message: 'Retry.' }],
    ] as const
    const [status, body] = responses[requests++]!
    response.writeHead(status).end(JSON.stringify(body))
  })
  const port = await listenUntilEnd(server)
  const list = file('stopped.txt', Array.from({ length: 10_001 }, (_, i) => `\n${i}@stopped.example`).join('\n'))
  await expect(runCli(['import', list, '--url', `http://127.0.0.1:${port}`])).rejects.toMatchObject({
    exit: 'unavailable',
    message: expect.stringContaining(
      [
        'transient_failure: Retry.',
        'The valid addresses before line 20002 are imported. It does no harm to import them again.',
        '9999 imported, 0 already suppressed, 1 skipped',
        '  line 4: invalid_address: "nobody"',
        'Undo it: verdict suppression undo imp_',
      ].join('\n'),
    ),
    json: {
      error: 'transient_failure',
      import_id: IMPORT_ID,
      imported: 9_999,
      errors: [{ line: 4, email: 'nobody', error: 'invalid_address' }],
    },
  })
})

test('an import waits as long as the rate limit asks, and continues', async () => {
  let requests = 0
  const server = createServer(({ url }, response) => {
    if (url === '/api/v1/domains') return response.end('{"domains":[]}')
    const counts = { imported: 1, already_suppressed: 0, invalid: 0, total: 1, errors: [] }
    const [status, body] = requests++ === 0 ? [429, { error: 'rate_limit_exceeded', retry_after: 1 }] : [200, counts]
    response.writeHead(status).end(JSON.stringify(body))
  })
  const port = await listenUntilEnd(server)
  const startedAt = performance.now()
  const url = `http://127.0.0.1:${port}`
  expect(await runCli(['import', file('limit.txt', 'a@b.example'), '--url', url])).toMatchObject({ exit: 'ok' })
  expect(performance.now() - startedAt).toBeGreaterThan(990)
  expect(requests).toBe(2)
})

test('a file without an address imports nothing, and says so', async () => {
  const path = file('empty.txt', '\n\n')
  expect(await runCli(['import', path])).toMatchObject({
    exit: 'ok',
    json: { imported: 0, total: 0 },
    text: `${path} has no address: nothing was imported.`,
  })
})

test('rows of mailboxes that take mail are imported by choice alone, and what was understood is said first', async () => {
  const csv = file('states.csv', 'Email,Status\nann@states.example,Bounced\nbob@states.example,Delivered\n')
  await expect(runCli(['import', csv])).rejects.toMatchObject({
    exit: 'usage',
    message: [
      `${csv}: Some rows may be of mailboxes that take mail. "Status": Bounced 1, Delivered 1`,
      'Choose the rows with --where "Status=Bounced,Delivered", or take all of them: --all',
    ].join('\n'),
  })
  const states = { column: 'Status', counts: { Bounced: 1, Delivered: 1 } }
  expect(await runCli(['import', csv, '--where', 'status=bounced'])).toMatchObject({
    json: { imported: 1, total: 1, understood: { column: 'Email', rows: 2, states } },
    exit: 'ok',
  })
  expect(progress).toEqual([
    '2 rows, addresses in column Email\nStatus: Bounced 1, Delivered 1',
    '1 read, up to line 2',
  ])
  expect(await entriesOf('bob@states.example')).toEqual([])
  expect(await runCli(['import', csv, '--all', '--dry-run'])).toMatchObject({ json: { new: 1, known: 1 } })
})

test('each row may have its own reason', async () => {
  const csv = file('reasons.csv', 'Email,Type\nann@why.example,HardBounce\nbob@why.example,Spam complaint\n')
  expect(await runCli(['import', csv, '--reason-column', 'type'])).toMatchObject({
    json: { imported: 2, understood: { reasons: { column: 'Type', counts: { HardBounce: 1, 'Spam complaint': 1 } } } },
  })
  expect(await entriesOf('ann@why.example')).toMatchObject([{ reason: 'bounce' }])
  expect(await entriesOf('bob@why.example')).toMatchObject([{ reason: 'complaint' }])
})

test("addresses of the account's own domains are left out unless they are wanted", async () => {
  const { domains } = (await api.call('GET', '/api/v1/domains')).json
  const own: string = domains[0].domain
  const list = file('own.txt', `info@${own.toUpperCase()}\nann@sub.${own}\n`)
  const { json, exit } = await runCli(['import', list])
  expect({ json, exit }).toMatchObject({ json: { imported: 1, understood: { own_domains: { [own]: 1 } } }, exit: 'ok' })
  expect(progress[0]).toContain(`left out, because the account sends from their domains: 1 of ${own}`)
  expect(await entriesOf(`info@${own}`)).toEqual([])
  expect(await runCli(['import', list, '--own-domains'])).toMatchObject({
    json: { imported: 1, already_suppressed: 1 },
  })
  await runCli(['suppression', 'remove', `info@${own}`])
})

test('a line of several addresses is imported in a list, and named in a table', async () => {
  expect(await runCli(['import', file('several.txt', 'a@several.example; b@several.example\n')])).toMatchObject({
    json: { imported: 2 },
    exit: 'ok',
  })
  const table = file('several.csv', 'email,name\nc@several.example; d@several.example,C\ne@several.example,E\n')
  expect(await runCli(['import', table])).toMatchObject({
    json: { imported: 1, errors: [{ line: 2, email: 'several addresses: c@several.example; d@several.example' }] },
    exit: 'failed',
  })
})

test('a file that does not exist or is a folder is a usage error', async () => {
  for (const path of [join(folder, 'none'), folder]) {
    await expect(runCli(['import', path])).rejects.toMatchObject({
      exit: 'usage',
      message: expect.stringContaining(path),
    })
  }
})

test('an import with an unknown reason imports nothing', async () => {
  const list = file('refused.txt', 'ann@refused.example')
  await expect(runCli(['import', list, '--reason', 'because'])).rejects.toMatchObject({
    exit: 'usage',
    message: expect.stringContaining('Allowed choices are bounce, complaint, import, manual'),
  })
  expect(await entriesOf('ann@refused.example')).toEqual([])
})

test('an address is added, listed and removed, for the account or for a tenant', async () => {
  const email = 'Odd+tag/x@one.example'
  expect(await runCli(['suppression', 'add', email])).toMatchObject({ text: 'odd+tag/x@one.example is suppressed.' })
  await runCli(['suppression', 'add', email, '--tenant', 'acme', '--reason', 'complaint'])
  const list = (await runCli(['suppression', 'list', '--email', email])).text
  expect(list).toMatch(/odd\+tag\/x@one\.example +tenant acme +complaint +- +- +-\n.* account +manual/)
  await runCli(['suppression', 'remove', email])
  expect(await entriesOf(email)).toMatchObject([{ scope: 'tenant' }])
  await runCli(['suppression', 'remove', email, '--tenant', 'acme'])
  await expect(runCli(['suppression', 'remove', email])).rejects.toMatchObject({ exit: 'not_found' })
  expect((await runCli(['suppression', 'list', '--email', email])).text).toBe('No entry matches.')
})

test('a list names the cursor of the next page', async () => {
  for (const name of ['a', 'b']) await runCli(['suppression', 'add', `${name}@page.example`, '--tenant', 'page'])
  const { json, text } = await runCli(['suppression', 'list', '--tenant', 'page', '--limit', '1'])
  const { next_cursor: cursor } = json as { next_cursor: string }
  expect(text).toContain(`b@page.example`)
  expect(text).toContain(`More: --cursor ${cursor}`)
  const next = await runCli(['suppression', 'list', '--tenant', 'page', '--limit', '1', '--cursor', cursor])
  expect(next.text).toContain('a@page.example')
  expect(next.text).not.toContain('More')
})

test('an operator suppresses an address for all accounts, and removes it again', async () => {
  await runCli(['suppression', 'add', 'Abuse@Bücher.example', '--global'])
  const email = 'abuse@xn--bcher-kva.example'
  expect(await entriesOf(email)).toMatchObject([{ scope: 'global', reason: 'manual' }])
  await expect(runCli(['suppression', 'remove', email])).rejects.toMatchObject({
    exit: 'not_found',
    message: expect.stringContaining('global'),
  })
  expect((await runCli(['suppression', 'remove', email, '--global'])).text).toBe(`Removed ${email} for all accounts.`)
  await expect(runCli(['suppression', 'remove', email, '--global'])).rejects.toMatchObject({ exit: 'not_found' })
  await expect(runCli(['suppression', 'add', 'x', '--global'])).rejects.toMatchObject({ exit: 'usage' })
  await expect(runCli(['suppression', 'add', email, '--global', '--tenant', 'a'])).rejects.toMatchObject({
    exit: 'usage',
  })
})

test('a dry run counts what an import would do, also over several requests, and imports nothing', async () => {
  await runCli(['suppression', 'add', 'known@preview.example'])
  const lines = Array.from({ length: 10_001 }, (_, i) => `${i}@preview.example`)
  const list = file('preview.txt', ['known@preview.example', 'nobody', ...lines, '0@PREVIEW.example'].join('\n'))
  const { json, text, exit } = await runCli(['import', list, '--dry-run'])
  expect(json).toEqual({
    ...{ new: 10_001, known: 2, invalid: 1, total: 10_004 },
    first_new: lines.slice(0, 10),
    first_known: ['known@preview.example', '0@PREVIEW.example'],
    first_invalid: [{ line: 2, email: 'nobody', error: 'invalid_address' }],
    understood: { column: '1', rows: 10_004, own_domains: {} },
  })
  expect(text).toContain('10001 new\n  0@preview.example\n')
  expect(text).toContain('  and 9991 more\n2 known\n  known@preview.example\n  0@PREVIEW.example\n1 invalid\n  line 2')
  expect(exit).toBe('failed')
  expect(await entriesOf('0@preview.example')).toEqual([])
})

test('an import of several requests is undone as one', async () => {
  await runCli(['suppression', 'add', '5@undo.example'])
  const lines = Array.from({ length: 10_001 }, (_, i) => `${i}@undo.example`)
  const { json } = await runCli(['import', file('undo.txt', lines.join('\n'))])
  const { import_id } = json as { import_id: string }
  expect(await runCli(['suppression', 'undo', import_id])).toMatchObject({
    json: { removed: 10_000, restored: 0 },
    text: '10000 removed, 0 put back as they were.',
  })
  expect(await entriesOf('10000@undo.example')).toEqual([])
  expect(await entriesOf('5@undo.example')).toMatchObject([{ reason: 'manual' }])
  await expect(runCli(['suppression', 'undo', import_id])).rejects.toMatchObject({ exit: 'not_found' })
})
