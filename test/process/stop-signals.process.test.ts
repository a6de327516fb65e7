import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

const STOP_SIGNALS = JSON.stringify(new URL('../../server/process/stop-signals.ts', import.meta.url))

/** Ends a process by a signal. Its drain does `drain`. Returns its exit code and what it printed. */
async function stop(drain: string) {
  const program = `
    import { drainWhenStopped } from ${STOP_SIGNALS}
    drainWhenStopped(async () => { ${drain} }, (error) => console.log('not drained:', error.message))
    console.log('started')
    setInterval(() => {}, 1_000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program])
  const output = text(child.stdout)
  const errors = text(child.stderr)
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  return { code, output: await output, errors: await errors }
}

test('a process that has drained ends with 0', async () => {
  expect(await stop(`console.log('drained')`)).toEqual({ code: 0, output: 'started\ndrained\n', errors: '' })
})

test('a process whose drain fails says why and ends with 1', async () => {
  expect(await stop(`throw new Error('the database is away')`)).toEqual({
    code: 1,
    output: 'started\nnot drained: the database is away\n',
    errors: '',
  })
})
