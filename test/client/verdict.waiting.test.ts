import { expect, test } from 'vitest'
import { Verdict } from '../../client/verdict.ts'
import { startProxy } from '../harness/proxy.ts'
import { untilEnd } from '../harness/until-end.ts'
import { script } from '../sending/world.ts'
import { startApi } from '../services/api.ts'

const api = await startApi()

test('a send whose response is lost is repeated and sends one email', async () => {
  script(api.world, {})
  const { hostname: host, port } = new URL(api.url)
  const proxy = untilEnd(await startProxy({ host, port: Number(port) }))
  let lost = 0
  proxy.onMessage = ({ direction }) => (direction === 'down' && lost++ === 0 ? 'reset' : 'pass')
  const { emails } = new Verdict({ url: `http://127.0.0.1:${proxy.port}`, apiKey: api.keys.live })
  const message = { from: 'hello@example.test', to: 'ann@example.net', subject: 'Hello', text: 'Hi' }
  const outcome = await emails.send(message)
  expect([outcome.status, lost > 1, api.world.exchanger.messages.length]).toEqual(['delivered', true, 1])
})
