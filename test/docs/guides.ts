import { randomInt } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { type RunningProcess, startProgram, waitForOutput } from '../harness/process.ts'
import { steps } from './snippets.ts'

/** The README, and the guides that continue where it ends, in this order. */
export const README = [
  'README.md',
  'docs/quickstart.md',
  'docs/api.md',
  'docs/suppression.md',
  'docs/limits.md',
  'docs/webhooks.md',
  'docs/receipts.md',
  'docs/going-live.md',
]

/** The guides that need only an account. */
export const GUIDES = [
  'docs/event-stream.md',
  'docs/retrying.md',
  'docs/mcp.md',
  'docs/migrating/resend.md',
  'docs/migrating/postmark.md',
  'docs/migrating/ses.md',
  'docs/migrating/sendgrid.md',
  'docs/migrating/mailgun.md',
  'docs/migrating/smtp.md',
  'docs/migrating/exports.md',
]

/** The guides whose snippets install packages and need other languages: `npm run test:real` runs them. */
export const GUIDES_WITH_PACKAGES = ['docs/receivers.md', 'docs/grpc.md']

/** The host name of the machine in the guides. */
const SMTP_HELO_NAME = 'mail.verdict.example'

/** One shell runs all snippets in turn, as a reader pastes them. This line separates their outputs. */
const MARK = '--- next snippet ---'

/**
 * Registers a test for every snippet of these guides. They run in this order against one `npm start`, and each response
 * must be the one that the guide shows. `env` is for programs that the guides need.
 */
export async function runGuides(documents: string[], { env = {} as NodeJS.ProcessEnv, timeoutMs = 300_000 } = {}) {
  const found = await Promise.all(documents.map(async (name) => ({ name, text: await readFile(name, 'utf8') })))
  const all = found.flatMap(({ name, text }) => steps(text).map((step) => ({ ...step, name })))
  let dataDir: string
  let program: RunningProcess
  let answers: string[]

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'verdict-guides-'))
    program = startProgram(process.execPath, ['dev/start.ts'], { PORT: '0', DATA_DIR: dataDir, SMTP_HELO_NAME })
    await waitForOutput(program, /^ready .*\n/m)
    const url = program.stdout().match(/^ready (.*)$/m)![1]!
    // No other test picks one of these ports in the minute before a guide listens on it.
    const receiverPort = String(await freePort(randomInt(32_000, 32_768)))
    const snippetsInTurn = all
      .map(({ shell }) =>
        shell
          .replaceAll('.verdict/', `${dataDir}/`)
          .replaceAll('127.0.0.1:8080', new URL(url).host)
          .replaceAll('8090', receiverPort),
      )
      .join(`echo; echo '${MARK}'\n`)
    // On a slow machine, programs start and events arrive later than the guides allow for.
    const script = `sleep() { command sleep $(($1 * 2)); }\n${snippetsInTurn}`
    const shell = startProgram('sh', ['-euc', script], { ...env, DATA_DIR: dataDir, SMTP_HELO_NAME })
    const timer = setTimeout(() => shell.kill('SIGKILL'), timeoutMs)
    const status = await shell.ended
    clearTimeout(timer)
    expect(status, (shell.stdout() + shell.stderr()).slice(-20_000)).toBe(0)
    answers = shell
      .stdout()
      .replaceAll(`:${receiverPort}/`, ':8090/')
      .replaceAll(`${dataDir}/`, '.verdict/')
      .split(MARK)
  }, timeoutMs + 120_000)

  afterAll(async () => {
    await program?.kill()
    await rm(dataDir, { recursive: true, force: true })
  })

  test.for(all.map((step, i) => ({ ...step, i })))(
    'the snippet in line $line of $name does what the guide shows',
    ({ answer, output, i }) => {
      if (answer !== undefined) expect(JSON.parse(answers[i]!)).toEqual(asShown(answer))
      if (output !== undefined) expect(answers[i]!.trim()).toMatch(pattern(output.trim()))
    },
  )

  test.for(documents)('%s has commands to run', (document) => {
    expect(all.filter(({ name }) => name === document).length).toBeGreaterThan(1)
  })
}

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
