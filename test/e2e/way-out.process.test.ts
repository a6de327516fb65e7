import { expect, test } from 'vitest'
import { a, mx, startDns } from '../harness/dns.ts'
import { startExchanger } from '../harness/exchanger.ts'
import { type SilentPort, startSilentPort } from '../harness/silent-port.ts'
import { untilEnd } from '../harness/until-end.ts'
import { startInstance } from './instance.ts'

// The way out of the machine breaks: the kernel drops the packets of each connection that begins.

const HOSTS = ['127.0.1.1', '127.0.2.1', '127.0.3.1']
const DOMAINS = HOSTS.map((_, i) => `site${i}.example.net`)
const zone = HOSTS.flatMap((host, i) => [
  [`MX ${DOMAINS[i]}`, [mx(DOMAINS[i]!, 10, `mx.${DOMAINS[i]}`)]],
  [`A mx.${DOMAINS[i]}`, [a(`mx.${DOMAINS[i]}`, host)]],
])
const dns = untilEnd(await startDns({ ...Object.fromEntries(zone), '*': 'nodata' }))
const exchangers = [untilEnd(await startExchanger({}, {}, HOSTS[0]))]
const { port } = exchangers[0]!
for (const host of HOSTS.slice(1)) exchangers.push(untilEnd(await startExchanger({}, { port }, host)))
const instance = await startInstance({
  DNS_SERVERS: dns.address,
  SMTP_PORT: String(port),
  SMTP_ALLOW_SUBNETS: '127.0.0.0/8',
  SEND_BUDGET_MS: '20000',
})

async function sendTo(domain: string) {
  const response = await instance.send({ to: `user@${domain}` })
  const { status, error, reason } = (await response.json()) as Record<string, unknown>
  return [response.status, status ?? error, ...(reason ? [reason] : [])]
}

async function mailState(): Promise<string> {
  const { checks } = (await (await instance.get('/readyz')).json()) as { checks: Record<string, string> }
  return checks.mail!
}

test('while nothing is reached the first send is a fault of this service, and readiness says so until one is', async () => {
  for (const domain of DOMAINS.slice(0, 2)) expect(await sendTo(domain)).toEqual([200, 'delivered'])
  expect(await mailState()).toBe('ok')
  for (const exchanger of exchangers) await exchanger.close()
  const silent: SilentPort[] = []
  for (const host of HOSTS) silent.push(untilEnd(await startSilentPort(host, port)))
  for (const domain of [DOMAINS[0]!, DOMAINS[2]!]) expect(await sendTo(domain)).toEqual([500, 'transient_failure'])
  await expect.poll(mailState).toBe('lacking connection')

  // One site stays silent, and another one is reached again.
  for (const each of silent.slice(0, 2)) await each.close()
  for (const host of HOSTS.slice(0, 2)) untilEnd(await startExchanger({}, { port }, host))
  expect(await sendTo(DOMAINS[0]!)).toEqual([200, 'delivered'])
  await expect.poll(mailState).toBe('ok')
  expect(await sendTo(DOMAINS[2]!)).toEqual([200, 'bounced', 'connection_timeout'])
})
