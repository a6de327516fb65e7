import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { type RunningProcess, startProgram, waitForOutput } from '../harness/process.ts'
import { snippets } from './snippets.ts'

/** In this order: the guides continue where the README ends. */
const DOCUMENTS = [
  'README.md',
  'docs/suppression.md',
  'docs/limits.md',
  'docs/webhooks.md',
  'docs/receipts.md',
  'docs/going-live.md',
]
const SNIPPETS = await Promise.all(
  DOCUMENTS.map(async (name) => {
    const markdown = await readFile(join(import.meta.dirname, '../..', name), 'utf8')
    return snippets(markdown).map((snippet) => ({ ...snippet, name }))
  }),
).then((found) => found.flat())

/** The host name of the machine in the guides. */
const SMTP_HELO_NAME = 'mail.verdict.example'

let dataDir: string
let program: RunningProcess
let answers: string[]

/** One shell runs all snippets in turn, as a reader pastes them. This line separates their outputs. */
const MARK = '--- next snippet ---'

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'verdict-readme-'))
  program = startProgram(process.execPath, ['dev/start.ts'], { PORT: '0', DATA_DIR: dataDir, SMTP_HELO_NAME })
  await waitForOutput(program, /^ready .*\n/m)
  const url = program.stdout().match(/^ready (.*)$/m)![1]!
  const receiverPort = String(await freePort())
  const script = SNIPPETS.map(({ shell }) =>
    shell
      .replaceAll('.verdict/', `${dataDir}/`)
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll('8090', receiverPort),
  ).join(`echo; echo '${MARK}'\n`)
  const shell = startProgram('sh', ['-euc', script], { DATA_DIR: dataDir, SMTP_HELO_NAME })
  const status = await shell.ended
  expect(status, shell.stdout() + shell.stderr()).toBe(0)
  answers = shell.stdout().replaceAll(`:${receiverPort}/`, ':8090/').split(MARK)
}, 300_000)

afterAll(async () => {
  await program?.kill()
  await rm(dataDir, { recursive: true, force: true })
})

test.for(SNIPPETS.map((snippet, i) => ({ ...snippet, i })))(
  'the command in line $line of $name prints the response shown below it',
  ({ answer, i }) => {
    const said = answers[i]!.trim()
    expect(said).not.toBe('')
    if (answer !== undefined) expect(JSON.parse(said)).toEqual(asShown(answer))
  },
)

test.for(DOCUMENTS)('%s has commands to run', (document) => {
  expect(SNIPPETS.filter(({ name }) => name === document).length).toBeGreaterThan(1)
})

/** `...` in a string matches any text, a duration or timestamp matches any number, and other fields may be present. */
function asShown(shown: unknown, name = ''): unknown {
  if (Array.isArray(shown)) return expect.arrayContaining(shown.map((item) => asShown(item)))
  if (typeof shown === 'number' && (name.endsWith('_ms') || name === 'timestamp')) return expect.any(Number)
  if (typeof shown === 'string') return expect.stringMatching(pattern(shown))
  if (typeof shown !== 'object' || shown === null) return shown
  return expect.objectContaining(
    Object.fromEntries(Object.entries(shown).map(([key, value]) => [key, asShown(value, key)])),
  )
}

function pattern(shown: string): RegExp {
  const literal = shown.split('...').map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${literal.join('.*')}$`)
}
