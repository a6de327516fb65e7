import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

const url = (file: string) => JSON.stringify(new URL(`../../server/process/${file}`, import.meta.url))

/** Starts a program with a log. Its drain does `drain`. */
function startProgram(drain: string) {
  const program = `
    import { createLogger } from ${url('log.ts')}
    import { drainWhenStopped } from ${url('stop-signals.ts')}
    const log = createLogger('info')
    drainWhenStopped(async () => { ${drain} }, { log, fault: 'not drained' })
    log.info('started')
    setInterval(() => {}, 1_000)`
  return spawn(process.execPath, ['--input-type=module', '--eval', program])
}

const messagesIn = (lines: string): Record<string, unknown>[] =>
  lines.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))

/** Ends a process by a signal. Returns its exit code and what it printed. */
async function stop(drain: string) {
  const child = startProgram(drain)
  const output = text(child.stdout)
  const errors = text(child.stderr)
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  return { code, output: messagesIn(await output), errors: await errors }
}

test('a process that has drained ends with 0', async () => {
  expect(await stop(`log.info('drained')`)).toMatchObject({
    ...{ code: 0, errors: '' },
    output: [{ msg: 'started' }, { msg: 'drained' }],
  })
})

test('a process whose drain fails says why and ends with 1', async () => {
  expect(await stop(`throw new Error('the database is away')`)).toMatchObject({
    ...{ code: 1, errors: '' },
    output: [{ msg: 'started' }, { msg: 'not drained', err: { message: 'the database is away' } }],
  })
})

/** More than a process keeps for a reader that stalls. */
const MANY_LINES = `for (let i = 0; i < 40; i++) { log.info('x'.repeat(2 ** 20)); await new Promise(setImmediate) }`

test('a process whose log is not read keeps working, in bounded memory, and ends by a signal', async () => {
  const child = startProgram(`${MANY_LINES}; console.error(String(process.memoryUsage().arrayBuffers))`)
  const errors = text(child.stderr)
  await once(child.stdout, 'readable')
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
  expect(Number(await errors)).toBeLessThan(40 * 2 ** 20)
})

test('a log that is read again says how many of its lines were lost', async () => {
  const child = startProgram(`${MANY_LINES}; console.error('written'); for await (const _ of process.stdin);`)
  await once(child.stdout, 'readable')
  child.kill('SIGTERM')
  await once(child.stderr, 'data')
  let output = ''
  for await (const piece of child.stdout.setEncoding('utf8')) {
    output += piece
    if (piece.includes('were lost')) child.stdin.end()
  }
  const lines = messagesIn(output)
  const lost = lines.find(({ level }) => level === 'warn')
  // All but `started` and the notice itself.
  expect(lines.length - 2 + (lost!.lines as number)).toBe(40)
})
