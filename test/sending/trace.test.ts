import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Trace } from '../../server/telemetry/tracing.ts'
import { message, script, startSendingWorld } from './world.ts'

const world = await startSendingWorld()

/** The outcomes that the spans of sends name. */
const attributes: unknown[] = []

/** The names of the steps of a send, in the order in which they begin. */
async function stepsOf(sandbox: boolean, to = ['ann@example.net']): Promise<string[]> {
  const steps: string[] = []
  const trace: Trace = {
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    traceId: '0af7651916cd43dd8448eb211c80319c',
    isRecorded: true,
    step(name, work) {
      steps.push(name)
      return work(trace)
    },
    add: (name) => void steps.push(name),
    set: ({ 'verdict.outcomes': outcomes }) => void (outcomes && attributes.push(outcomes)),
    end: () => {},
  }
  await world.sendAlone()(message({ to }), world.options({ sandbox, trace }))
  return steps
}

const CHECKS =
  'check domain, check warm_up, check quota, check breaker, check address, check suppression, check recipient_mx'
const SMTP = 'smtp connect, smtp greeting, smtp ehlo, smtp starttls, smtp mail, smtp rcpt, smtp data, smtp dot'

test('the steps of a send have the names that the page on tracing shows', async () => {
  const page = readFileSync('docs/tracing.md', 'utf8')
  expect(page).toContain(`├─ ${CHECKS}\n`)
  expect(page).toContain(`├─ ${SMTP}\n`)
  const steps = await stepsOf(false)
  const ofSmtp = steps.filter((name) => name.startsWith('smtp '))
  expect(SMTP.split(', ')).toEqual(expect.arrayContaining(ofSmtp))
  expect(ofSmtp).toContain('smtp dot')
  const own = steps.filter((name) => !name.startsWith('smtp '))
  expect(own).toEqual([...CHECKS.split(', '), 'claim', 'smtp', 'marker', 'record'])
})

test('a span names the outcomes of its send, each once', async () => {
  attributes.length = 0
  script(world, { rcpt: (line) => (line.includes('full') ? '452 4.2.2 Mailbox full' : undefined) })
  await stepsOf(false, ['full@example.net', 'full2@example.net', 'ann@example.net'])
  expect(attributes).toEqual([['bounced/mailbox_full', 'delivered']])
})

test('a dry run is checked, and settled in one commit', async () => {
  expect(await stepsOf(true)).toEqual([...CHECKS.split(', '), 'settle'])
})
