import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startInstance } from '../e2e/instance.ts'
import { startDns } from '../harness/dns.ts'
import { startExchanger } from '../harness/exchanger.ts'
import { temporaryFolder, untilEnd } from '../harness/until-end.ts'
import { sendWalk } from './send-walk.ts'

// Which files of the API process run a function during a send, as V8 counts them.

const PRELOAD = fileURLToPath(new URL('function-trace.ts', import.meta.url))
const SENDS = 6

const folder = temporaryFolder()
const exchanger = untilEnd(await startExchanger())
const dns = untilEnd(
  await startDns({
    'MX example.net': [
      { type: 'MX', name: 'example.net', ttl: 600, data: { preference: 10, exchange: 'mx.example.net' } },
    ],
    'A mx.example.net': [{ type: 'A', name: 'mx.example.net', ttl: 600, data: '127.0.0.1' }],
  }),
)
const instance = await startInstance({
  DNS_SERVERS: dns.address,
  SMTP_PORT: String(exchanger.port),
  SMTP_ALLOW_SUBNETS: '127.0.0.0/8',
  FUNCTION_TRACE: join(folder, 'trace'),
  NODE_OPTIONS: `--import ${PRELOAD}`,
})

let signals = 0

/** The files that have run a function since the call before. */
async function takeTrace(): Promise<string[]> {
  signals += 1
  const file = join(folder, `trace.${signals}`)
  process.kill(instance.api.pid, 'SIGUSR2')
  await expect.poll(() => existsSync(file)).toBe(true)
  return JSON.parse(readFileSync(file, 'utf8'))
}

async function send(): Promise<void> {
  const response = await instance.send({ to: 'ann@example.net' })
  expect(await response.json()).toMatchObject({ status: 'delivered', smtp: { mx: 'mx.example.net' } })
}

test('send-walk.txt lists the files that a send enters, and no other', async () => {
  await send()
  await send()
  const traces: Set<string>[] = []
  for (let i = 0; i < SENDS; i += 1) {
    await takeTrace()
    await send()
    traces.push(new Set(await takeTrace()))
  }
  const { files } = sendWalk()
  // A file that some of the sends enter belongs to other work of the process, or to one that happens now and then.
  const inEach = [...traces[0]!].filter((file) => traces.every((trace) => trace.has(file)))
  const inSome = new Set(traces.flatMap((trace) => [...trace]))
  expect({
    missing: inEach.filter((file) => !files.includes(file)),
    superfluous: files.filter((file) => !inSome.has(file)),
  }).toEqual({ missing: [], superfluous: [] })
})
