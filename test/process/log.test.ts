import postgres from 'postgres'
import { expect, test } from 'vitest'
import { makeKey } from '../../server/access/api-key.ts'
import { DrizzleQueryError } from '../../server/db/drizzle.ts'
import { createAddressHash, createLogger } from '../../server/process/log.ts'

const CANARY = 'canary-7f3a'
const ADDRESS = `${CANARY}@recipient.example`

function lines(write: (log: ReturnType<typeof createLogger>) => void): string {
  let written = ''
  write(createLogger('trace', { write: (line) => (written += line) }))
  return written
}

test('a line is one JSON object with time, level and text', () => {
  const line = JSON.parse(lines((log) => log.info({ method: 'Send', duration_ms: 12.5 }, 'call')))
  expect(line).toEqual({
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    level: 'info',
    method: 'Send',
    duration_ms: 12.5,
    msg: 'call',
  })
})

test('lines below the level are not written', () => {
  let written = ''
  createLogger('warn', { write: (line) => (written += line) }).info('quiet')
  expect(written).toBe('')
})

test.each<[what: string, fields: object]>([
  ['an address in a field', { anything: ADDRESS }],
  ['an address inside words', { reply: `550 5.1.1 <${ADDRESS}>: unknown` }],
  ['an address in a URL', { url: `postgres://verdict:${CANARY}@db.internal/verdict` }],
  ['a list of addresses', { to: [ADDRESS, `b${ADDRESS}`] }],
  ['a subject, at any depth', { request: { message: { subject: `the "${CANARY}" \\ of it` } } }],
  ['an Authorization header', { headers: { authorization: `Bearer ${CANARY}` } }],
  ['a password', { password: CANARY }],
])('%s is redacted', (_, fields) => {
  const written = lines((log) => {
    log.info(fields, 'as a field')
    log.child(fields).info('as a binding')
    log.info(`in words: ${JSON.stringify(Object.values(fields)).match(/[^\s"]*@[^\s"]*/)?.[0] ?? ''}`)
  })
  expect(written).not.toContain(CANARY)
  for (const line of written.trim().split('\n')) JSON.parse(line)
})

test('an API key is redacted anywhere in a line', () => {
  const key = makeKey('live')
  const written = lines((log) => {
    log.info({ note: `used ${key} twice` }, key)
    log.error(new Error(`bad key ${key}`))
  })
  expect(written).not.toContain(key.slice(9, 20))
  expect(written).toContain('used [key] twice')
})

test('an error is written with type, code and frames, through all its causes', () => {
  const cause = Object.assign(new TypeError('no answer'), { code: 'ECONNRESET' })
  const line = JSON.parse(lines((log) => log.error({ err: new Error('send failed', { cause }) }, 'call')))
  expect(line.err).toMatchObject({
    type: 'Error',
    message: 'send failed',
    stack: expect.stringMatching(/^ {4}at .*log\.test\.ts/),
    cause: { type: 'TypeError', message: 'no answer', code: 'ECONNRESET' },
  })
})

test.each<[what: string, error: unknown]>([
  ['the parameters of a query', new DrizzleQueryError('insert into t values ($1)', [CANARY, 'x'], new Error('gone'))],
  [
    'the value that Postgres refused',
    new postgres.PostgresError(
      Object.assign(`invalid input syntax for type json: "a"${CANARY}"b"`, { detail: CANARY, where: CANARY }) as never,
    ),
  ],
  ['the text a JSON parser quotes', thrownBy(() => JSON.parse(`{"subject": ${CANARY}}`))],
  ['what else hangs on an error', Object.assign(new Error('refused'), { parameters: [CANARY], detail: CANARY })],
  ['frames forged in a message', new Error(`x" \n    at ${CANARY}"`)],
  ['a thrown text', CANARY],
])('%s is not in the line of an error', (_, error) => {
  const written = lines((log) => {
    log.error({ err: error }, 'failed')
    if (error instanceof Error) {
      log.error(error)
      log.error({ err: new Error('outer', { cause: error }) })
    }
  })
  expect(written).toContain('failed')
  expect(written).not.toContain(CANARY)
})

test('the hash of an address is the same for upper and lower case, and reveals nothing without its key', () => {
  const hash = createAddressHash(Buffer.alloc(32, 1))
  expect(hash('Somebody@Recipient.example')).toBe(hash('somebody@recipient.example'))
  expect(hash('somebody@recipient.example')).toMatch(/^[0-9a-f]{16}$/)
  expect(hash('somebody@recipient.example')).not.toBe(hash('nobody@recipient.example'))
  expect(hash(ADDRESS)).not.toBe(createAddressHash(Buffer.alloc(32, 2))(ADDRESS))
})

function thrownBy(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}
