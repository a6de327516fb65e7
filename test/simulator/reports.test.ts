import { expect, test } from 'vitest'
import { parseAddress } from '../../mail/address.ts'
import { createResolver } from '../../mail/dns/resolver.ts'
import type { Site } from '../../mail/smtp/attempt.ts'
import { createEngine } from '../../mail/smtp/engine.ts'
import { readReport } from '../../server/inbound/report.ts'
import { type MailBack, reportAbout } from '../../server/simulator/reports.ts'
import { createSimulator } from '../../server/simulator/simulator.ts'
import { untilEnd } from '../harness/until-end.ts'

const RETURN_PATH = 'b.token@rp.example.test'

test('a complaint is one that the bounce listener reads', async () => {
  const recipient = 'complaint+7@simulator.test'
  const { to, content } = reportAbout({ report: 'complaint', recipient, returnPath: RETURN_PATH })
  expect(to).toBe(RETURN_PATH)
  expect(await readReport(content)).toEqual({ kind: 'complaint', type: 'abuse', addresses: [recipient] })
})

test('a late bounce is one that the bounce listener reads', async () => {
  const recipient = 'late_bounce@simulator.test'
  const { content } = reportAbout({ report: 'late_bounce', recipient, returnPath: RETURN_PATH })
  expect(await readReport(content)).toMatchObject({
    kind: 'bounce',
    failures: [{ addresses: [recipient], reason: 'mailbox_does_not_exist', enhanced: '5.1.1' }],
  })
})

test('the mail server accepts messages to these addresses, and reports about each recipient of its name', async () => {
  const reports: MailBack[] = []
  const simulator = untilEnd(createSimulator({ comesBack: (mail) => void reports.push(mail) }))
  await simulator.listen()
  const resolver = createResolver({ servers: ['127.0.0.1:9'] })
  const engine = untilEnd(
    createEngine({ resolver, mayDial: () => false, smtpPort: 25, routes: new Map(), heloName: 'me.test' }),
  )
  const to = ['complaint@simulator.test', 'delivered@simulator.test', 'Late_Bounce+a@simulator.test']
  const recipients = to.map((address) => {
    const { route, outcome } = simulator.route(parseAddress(address)!)!
    expect(outcome).toEqual({ status: 'delivered' })
    return { address, site: (route as { site: Site }).site }
  })
  const content = [Buffer.from('From: a@example.test\r\n\r\nHello\r\n')]
  const beforeDot = async () => true
  const startedAtMs = performance.now()
  const senderFor = () => RETURN_PATH
  await engine.deliver({ senderFor, recipients, content, startedAtMs, budgetMs: 30_000, beforeDot })
  const read = await Promise.all(reports.map((report) => readReport(report.content)))
  expect(read.map((report) => report?.kind)).toEqual(['complaint', 'bounce'])
})
