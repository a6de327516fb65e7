import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createKey } from '../../server/access/api-keys.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { startInstance } from '../e2e/instance.ts'
import { eventually } from '../harness/eventually.ts'
import { startExchanger } from '../harness/exchanger.ts'
import { startProgram } from '../harness/process.ts'
import { temporaryFolder, untilEnd } from '../harness/until-end.ts'
import { snippets } from './snippets.ts'

// The queue of the guide, against a mail server that changes its mind.

const folder = temporaryFolder()
const guide = await readFile('docs/retrying.md', 'utf8')
const { text } = snippets(guide).find(({ mark }) => mark.startsWith('file='))!
await writeFile(join(folder, 'outbox.mjs'), text)
const exchanger = untilEnd(await startExchanger())
const instance = await startInstance({ SMTP_ROUTES: `to.test=127.0.0.1:${exchanger.port}` })

/** Each test has its own file, in which a minute lasts `minuteMs`. */
function outbox(name: string, minuteMs: number, more: NodeJS.ProcessEnv = {}) {
  const env = {
    VERDICT_URL: instance.api.url,
    VERDICT_API_KEY: instance.key,
    OUTBOX: join(folder, `${name}.db`),
    MINUTE_MS: String(minuteMs),
    ...more,
  }
  const start = (...args: string[]) => startProgram(process.execPath, [join(folder, 'outbox.mjs'), ...args], env)
  async function end(...args: string[]): Promise<string> {
    const program = start(...args)
    expect(await program.ended, program.stderr()).toBe(0)
    return program.stdout().trim()
  }
  async function error(...args: string[]): Promise<string> {
    const program = start(...args)
    expect(await program.ended, program.stdout()).toBe(1)
    return program.stderr().trim()
  }
  const email = { from: 'hello@example.test', to: `${name}@to.test`, subject: 'Hello', text: 'Hello' }
  return {
    start,
    error,
    run: () => end('run'),
    list: () => end('list'),
    add: () => end('add', name, JSON.stringify(email)),
    requeue: () => end('requeue', name),
  }
}

const arrived = (name: string) => exchanger.messages.filter(({ to }) => to.includes(`${name}@to.test`)).length

test('a message that is refused twice for now arrives once, with the third attempt', async () => {
  exchanger.script = { rcpt: (_line, times) => (times < 2 ? '451 4.7.1 greylisted' : undefined) }
  const { add, run, list } = outbox('greylisted', 50)
  await add()
  await run()
  expect(await list()).toBe('greylisted sent attempts: 3')
  expect(arrived('greylisted')).toBe(1)
})

test('a server that remembers the envelope sender accepts the retry; each attempt retries the one before', async () => {
  const seen = new Set<string>()
  let sender = ''
  exchanger.script = {
    mail: (line) => {
      sender = /<(.*)>/.exec(line)![1]!
      return undefined
    },
    rcpt: () => {
      if (seen.has(sender)) return undefined
      seen.add(sender)
      return '450 4.2.0 Greylisted'
    },
  }
  const { add, run, list } = outbox('triplet', 50)
  await add()
  await run()
  expect(await list()).toBe('triplet sent attempts: 2')
  expect(seen.size).toBe(1)
})

test('a test key stops a queue that has a message to retry, and a live key sends it', async () => {
  let rcpts = 0
  exchanger.script = { rcpt: () => (rcpts++ === 0 ? '451 4.7.1 greylisted' : undefined) }
  const { add, list, run } = outbox('mode', 5)
  await add()
  // The retry is due later.
  const program = outbox('mode', 300).start('run')
  await eventually(async () => expect(await list()).toContain('attempts: 2'))
  await program.kill('SIGKILL')
  const dry = outbox('mode', 5, { VERDICT_API_KEY: await testKey() })
  expect(await dry.error('run')).toContain('mode stopped the run: invalid_payload: retry_of names a live message')
  expect(await list()).toBe('mode pending attempts: 2 invalid_payload')
  await run()
  expect(await list()).toBe('mode sent attempts: 2')
})

test('a message in doubt is never sent again', async () => {
  exchanger.script = { dot: 'close' }
  const { add, run, list } = outbox('doubt', 5)
  await add()
  await run()
  expect(await list()).toBe('doubt in_doubt attempts: 1 connection_timeout')
  expect(arrived('doubt')).toBe(1)
})

test('a queue that is killed while a message is sent learns its outcome from the service', async () => {
  exchanger.script = { dot: { after: 2_000, act: '250 2.0.0 accepted' } }
  const { add, start, run, list } = outbox('killed', 5)
  await add()
  const killed = start('run')
  await eventually(() => expect(arrived('killed')).toBe(1))
  await killed.kill('SIGKILL')
  // The lease of the attempt is over at once.
  const later =
    "import { DatabaseSync } from 'node:sqlite'; new DatabaseSync(process.argv[1]).exec('UPDATE outbox SET due = 0')"
  const program = startProgram(process.execPath, ['--input-type=module', '-e', later, join(folder, 'killed.db')], {})
  expect(await program.ended, program.stderr()).toBe(0)
  await run()
  expect(await list()).toBe('killed sent attempts: 1')
  expect(arrived('killed')).toBe(1)
})

async function testKey(): Promise<string> {
  const { db } = instance.database
  const clock = await createDatabaseClock(db)
  const newKey = { accountId: instance.account.id, name: 'dry', kind: 'test', scopes: ['emails.send'] } as const
  const { key } = await createKey(db, clock, newKey)
  clock.stop()
  return key
}

test('a wrong key, a wrong URL and a test key stop the queue with the error, and its message stays pending', async () => {
  exchanger.script = {}
  const { add, list, run } = outbox('stopped', 5)
  await add()
  const wrong = {
    invalid_api_key: { VERDICT_API_KEY: 'svc_live_wrong' },
    not_found: { VERDICT_URL: `${instance.api.url}/elsewhere` },
    sandbox: { VERDICT_API_KEY: await testKey() },
  }
  for (const [reason, env] of Object.entries(wrong)) {
    expect(await outbox('stopped', 5, env).error('run')).toContain(`stopped stopped the run: ${reason}: `)
    expect(await list()).toMatch(new RegExp(`^stopped pending attempts: \\d ${reason}$`))
  }
  expect(arrived('stopped')).toBe(0)
  await run()
  expect(await list()).toMatch(/^stopped sent attempts: \d$/)
  expect(arrived('stopped')).toBe(1)
})

test('a message that failed is sent again after requeue, and one that was sent is not', async () => {
  exchanger.script = { rcpt: '554 5.7.1 refused by policy' }
  const { add, run, list, requeue, error } = outbox('again', 5)
  await add()
  await run()
  expect(await list()).toBe('again failed attempts: 1 policy_block')
  exchanger.script = {}
  await requeue()
  await run()
  expect(await list()).toBe('again sent attempts: 2')
  expect(await error('requeue', 'again')).toContain('was sent')
  expect(arrived('again')).toBe(1)
})

test('a missing URL, an unknown command and several recipients are refused at once', async () => {
  const { error } = outbox('refused', 5)
  expect(await outbox('refused', 5, { VERDICT_URL: '' }).error('run')).toContain('Set VERDICT_URL')
  expect(await outbox('refused', 5, { VERDICT_API_KEY: '' }).error('run')).toContain('Set VERDICT_API_KEY')
  expect(await error('send')).toContain('outbox.mjs add <id>')
  expect(await error('add', 'refused', '{"to":["a@to.test","b@to.test"]}')).toContain('has 2 recipients')
})

test('an attempt without a response is printed and repeated', async () => {
  const { add } = outbox('unreachable', 5)
  await add()
  const program = outbox('unreachable', 5, { VERDICT_URL: 'http://127.0.0.1:2' }).start('run')
  await eventually(() => expect(program.stderr()).toMatch(/unreachable repeat at .*ECONNREFUSED/))
  await program.kill()
})
