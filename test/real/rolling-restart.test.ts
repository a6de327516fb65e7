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
/** Shorter than in production: nginx checks no readiness, so it learns of a restart from our listener only. */
const DRAIN_GRACE_MS = '1000'

test('no request fails during 25 restarts of two processes behind nginx with kept connections, at 50 requests a second', async () => {
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
  const { successes, failures } = await load.stop()
  console.log({ successes, failures: failures.length })
  expect(failures).toEqual([])
  expect(successes).toBeGreaterThan(RESTARTS * REQUESTS_A_SECOND)
}, 1_200_000)

/** Sends requests at a steady pace, without waiting for responses: three sends without a key, then a list of events. */
function startLoad(url: string, key: string) {
  const agent = new Agent({ keepAlive: true })
  const running = new Set<Promise<void>>()
  const failures: string[] = []
  let successes = 0
  const call = async (nth: number) => {
    const isSend = nth % 4 > 0
    try {
      const result = await (isSend ? send('POST', '/api/v1/emails/send', EMAIL) : send('GET', '/api/v1/events'))
      if (result.status === 200) successes++
      else failures.push(`${isSend ? 'POST' : 'GET'} ${result.status} ${result.text}`)
    } catch (error) {
      failures.push((error as Error).message)
    }
  }
  async function send(method: string, path: string, body?: string) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const outgoing = request(url + path, { method, agent, headers }).end(body)
    const [response] = await once(outgoing, 'response')
    return { status: response.statusCode, text: await text(response) }
  }
  const startedAtMs = performance.now()
  let isStopped = false
  const pace = (async () => {
    for (let nth = 0; !isStopped; nth++) {
      const pending = call(nth).finally(() => running.delete(pending))
      running.add(pending)
      await sleep(Math.max(0, startedAtMs + ((nth + 1) * 1_000) / REQUESTS_A_SECOND - performance.now()))
    }
  })()
  return {
    async stop() {
      isStopped = true
      await pace
      await Promise.all(running)
      agent.destroy()
      return { successes, failures }
    },
  }
}

const EMAIL = JSON.stringify({
  from: `orders@${SENDER_DOMAIN}`,
  to: 'delivered@simulator.test',
  subject: 'Your order',
  text: 'It is on its way.',
})
