import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Trace } from '../../server/telemetry/tracing.ts'
import { message, startSendingWorld } from './world.ts'

const world = await startSendingWorld()

/** The names of the steps of a send, in the order in which they begin. */
async function stepsOf(sandbox: boolean): Promise<string[]> {
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
    set: () => {},
    end: () => {},
  }
  await world.sendAlone()(message(), world.options({ sandbox, trace }))
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

test('a dry run is checked, and settled in one commit', async () => {
  expect(await stepsOf(true)).toEqual([...CHECKS.split(', '), 'settle'])
})
