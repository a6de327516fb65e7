import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { type RunningApi, startApiProcess } from '../harness/process.ts'
import { freePort } from './daemon.ts'
import { startNginx } from './nginx.ts'
import { createSender, SENDER_DOMAIN } from './product.ts'

const RESTARTS = 25
const REQUESTS_A_SECOND = 50
/** Shorter than in production: nginx asks no readiness, so nothing but our listener tells it. */
const DRAIN_GRACE_MS = '1000'

test('25 restarts of two processes behind nginx with kept connections, under 50 requests a second: none fails', async () => {
  const { database, key, env } = await createSender()
  const ports = [await freePort(), await freePort()]
  const start = (port: number) => startApiProcess({ ...env, PORT: String(port), DRAIN_GRACE_MS, LOG_LEVEL: 'warn' })
  const processes: RunningApi[] = await Promise.all(ports.map(start))
  const nginx = await startNginx(ports)
  onTestFinished(async () => {
    for (const api of processes) await api.kill('SIGKILL')
    await nginx.stop()
    await database.drop()
  })

  const load = startLoad(nginx.url, key)
  for (let i = 0; i < RESTARTS; i++) {
    const one = i % ports.length
    expect(await processes[one]!.kill('SIGTERM')).toBe(0)
    processes[one] = await start(ports[one]!)
  }
  const { answered, failures } = await load.stop()
  console.log({ answered, failures: failures.length })
  expect(failures).toEqual([])
  expect(answered).toBeGreaterThan(RESTARTS * REQUESTS_A_SECOND)
}, 1_200_000)

/** Requests at a pace, whether or not those before them are answered: three sends without a key, then a list of events. */
function startLoad(url: string, key: string) {
  const agent = new Agent({ keepAlive: true })
  const running = new Set<Promise<void>>()
  const failures: string[] = []
  let answered = 0
  const call = async (nth: number) => {
    const isSend = nth % 4 > 0
    try {
      const answer = await (isSend ? ask('POST', '/api/v1/emails/send', LETTER) : ask('GET', '/api/v1/events'))
      if (answer.status === 200) answered++
      else failures.push(`${isSend ? 'POST' : 'GET'} ${answer.status} ${answer.text}`)
    } catch (error) {
      failures.push((error as Error).message)
    }
  }
  async function ask(method: string, path: string, body?: string) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const asking = request(url + path, { method, agent, headers }).end(body)
    const [answer] = await once(asking, 'response')
    return { status: answer.statusCode, text: await text(answer) }
  }
  const startedAtMs = performance.now()
  let stopped = false
  const paced = (async () => {
    for (let nth = 0; !stopped; nth++) {
      const calling = call(nth).finally(() => running.delete(calling))
      running.add(calling)
      await sleep(Math.max(0, startedAtMs + ((nth + 1) * 1_000) / REQUESTS_A_SECOND - performance.now()))
    }
  })()
  return {
    async stop() {
      stopped = true
      await paced
      await Promise.all(running)
      agent.destroy()
      return { answered, failures }
    },
  }
}

const LETTER = JSON.stringify({
  from: `orders@${SENDER_DOMAIN}`,
  to: 'delivered@simulator.test',
  subject: 'Your order',
  text: 'It is on its way.',
})
