import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Instance, startInstance } from '../e2e/instance.ts'
import { eventually } from '../harness/eventually.ts'
import { type Exchanger, startExchanger } from '../harness/exchanger.ts'
import { startProgram } from '../harness/process.ts'
import { snippets } from './snippets.ts'

// The queue of the guide, against a mail server that changes its mind.

let folder: string
let exchanger: Exchanger
let instance: Instance

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verdict-outbox-'))
  const guide = await readFile('docs/retrying.md', 'utf8')
  const { text } = snippets(guide).find(({ mark }) => mark.startsWith('file='))!
  await writeFile(join(folder, 'outbox.mjs'), text)
  exchanger = await startExchanger()
  instance = await startInstance({ SMTP_ROUTES: `to.test=127.0.0.1:${exchanger.port}` })
})

afterAll(async () => {
  await instance?.stop()
  await exchanger?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Each test has a file of its own, in which a minute lasts `minuteMs`. */
function outbox(name: string, minuteMs: number) {
  const env = {
    VERDICT_URL: instance.api.url,
    VERDICT_API_KEY: instance.key,
    OUTBOX: join(folder, `${name}.db`),
    MINUTE_MS: String(minuteMs),
  }
  const start = (...args: string[]) => startProgram(process.execPath, [join(folder, 'outbox.mjs'), ...args], env)
  async function end(...args: string[]): Promise<string> {
    const program = start(...args)
    expect(await program.ended, program.stderr()).toBe(0)
    return program.stdout().trim()
  }
  const email = { from: 'hello@example.test', to: `${name}@to.test`, subject: 'Hello', text: 'Hello' }
  return { start, run: () => end('run'), list: () => end('list'), add: () => end('add', name, JSON.stringify(email)) }
}

const arrived = (name: string) => exchanger.messages.filter(({ to }) => to.includes(`${name}@to.test`)).length

test('a message that is refused twice for now arrives once, with the third attempt', async () => {
  exchanger.script = { rcpt: (_line, times) => (times < 2 ? '451 4.7.1 greylisted' : undefined) }
  const { add, run, list } = outbox('greylisted', 5)
  await add()
  await run()
  expect(await list()).toBe('greylisted sent attempts: 3')
  expect(arrived('greylisted')).toBe(1)
})

test('a message in doubt is never sent again', async () => {
  exchanger.script = { dot: 'close' }
  const { add, run, list } = outbox('doubt', 5)
  await add()
  await run()
  expect(await list()).toBe('doubt in_doubt attempts: 1')
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
