import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SmtpAttempt } from '../../../mail/smtp/attempt.ts'
import { readAs } from '../../../mail/smtp/rules.ts'
import type { Script } from '../../harness/smtp-script.ts'
import { deliveryTo, engineWith, exchangerWith, outcomeOf, siteOf } from './deliver.ts'

// Several recipients, refused at DATA or the dot: the refusal holds for those that it names.

const TO = ['ann@example.test', 'bob@example.test', 'cy@example.test']

/** Refuses a transaction with one of these recipients at this command, and takes all others. */
function refusing(unknown: readonly string[], refusal: string, at: 'data' | 'dot' = 'dot') {
  let recipients: string[] = []
  const taken: string[][] = []
  const refused = () => (recipients.some((address) => unknown.includes(address)) ? refusal : undefined)
  const script: Script = {
    mail: () => {
      recipients = []
      return undefined
    },
    rcpt(line) {
      recipients.push(/<(.*)>/.exec(line)![1]!)
      return undefined
    },
    data: () => (at === 'data' ? refused() : undefined),
    dot() {
      const reply = at === 'dot' ? refused() : undefined
      if (!reply) taken.push(recipients)
      return reply
    },
  }
  return { script, taken }
}

async function deliverTo(script: Script, addresses: readonly string[] = TO) {
  const exchanger = await exchangerWith(script)
  const site = siteOf(exchanger)
  const markers: [number[], number[]][] = []
  const attempts = await engineWith().deliver(
    deliveryTo(site, {
      recipients: addresses.map((address) => ({ address, site })),
      beforeDot: async (...marker) => markers.push(marker) > 0,
    }),
  )
  return { attempts, exchanger, markers }
}

const kindOf = ({ reading }: SmtpAttempt) => reading?.kind
const readingOf = ({ reading }: SmtpAttempt) => reading && readAs(reading)

test.each([
  ['550 5.1.1 User unknown', 'dot'],
  ['550 5.1.1 User unknown', 'data'],
  ['550 5.1.1', 'dot'],
  ['552 5.2.2 mailbox is full', 'dot'],
  ['550 5.1.1 <joann@example.test>: user unknown', 'dot'],
  ['550 5.1.1 <ann@example.test.org>: user unknown', 'dot'],
] as const)('after "%s" to %s, which names no recipient, each recipient is tried alone', async (refusal, at) => {
  const { script, taken } = refusing(['bob@example.test'], refusal, at)
  const { attempts, exchanger, markers } = await deliverTo(script)
  expect(attempts.map(outcomeOf)).toEqual(['delivered', expect.stringMatching(/^mailbox/), 'delivered'])
  expect(taken).toEqual([['ann@example.test'], ['cy@example.test']])
  expect(attempts[0]!.tried).toMatchObject([{ phase: at, detail: refusal }])
  expect(exchanger.sessions).toHaveLength(1)
  // The marker of a dot that was refused is taken back with the next one.
  if (at === 'dot')
    expect(markers).toEqual([
      [[0, 1, 2], []],
      [[0], [1, 2]],
      [[1], [2]],
      [[2], []],
    ])
})

test('a refusal that names a recipient is about that one, each line by itself', async () => {
  const refusal = '550-5.1.1 <BOB@example.test>: user unknown\r\n550 5.7.1 cy@example.test may not get this, nor ann'
  const { attempts } = await deliverTo(refusing(['bob@example.test'], refusal).script)
  expect(attempts.map(outcomeOf)).toEqual(['delivered', 'mailbox_does_not_exist', 'delivered'])
  expect(attempts.map(kindOf)).toEqual([undefined, 'unknown', undefined])
  expect(attempts[1]!.tried).toBeUndefined()
})

test('a refusal about the message, the sender or the session holds for all', async () => {
  for (const refusal of ['554 5.7.1 Message rejected as spam', '550 5.7.1 SPF check failed']) {
    const { script, taken } = refusing(TO, refusal)
    const { attempts } = await deliverTo(script)
    expect(new Set(attempts.map(readingOf)).size).toBe(1)
    expect(taken).toEqual([])
    expect(attempts[0]!.transaction).toBe(1)
  }
})

test('at most ten are asked alone; the others may be sent to again, and nothing counts against them', async () => {
  const many = Array.from({ length: 14 }, (_, i) => `user${i}@example.test`)
  const { attempts } = await deliverTo(refusing(['user0@example.test'], '550 5.1.1 User unknown').script, many)
  expect(attempts.map(outcomeOf)).toEqual([
    'mailbox_does_not_exist',
    ...Array(9).fill('delivered'),
    ...Array(4).fill('temporary_failure'),
  ])
  expect(attempts.slice(10).map(readingOf)).toEqual(Array(4).fill('session (not asked alone)'))
  expect(attempts.slice(10).map(kindOf)).toEqual(Array(4).fill(undefined))
})

test('a server that refuses and closes is asked for the others over fresh connections', async () => {
  const drops = ['bob@example.test', 'cy@example.test']
  const script: Script = {
    ehlo: '250 mx.test',
    rcpt: (line) =>
      drops.some((address) => line.includes(address)) ? { raw: '550 5.1.1 no such user\r\n', act: 'close' } : undefined,
  }
  const { attempts, exchanger } = await deliverTo(script, ['bob@example.test', 'cy@example.test', 'ann@example.test'])
  expect(attempts.map(outcomeOf)).toEqual(['mailbox_does_not_exist', 'mailbox_does_not_exist', 'delivered'])
  expect(exchanger.sessions).toHaveLength(3)
})

test('no reply makes a recipient unknown because of another recipient', async () => {
  const names = ['ann', 'bob', 'cy', 'dan'].map((name) => `${name}@example.test`)
  const refusals = [
    '550 5.1.1 User unknown',
    '550 No such user',
    '552 5.2.2 Mailbox full',
    '550 5.1.1',
    '550 5.2.1 off',
  ]
  const scripts = fc.record({
    unknown: fc.subarray(names),
    refusal: fc.constantFrom(...refusals),
    at: fc.constantFrom('data' as const, 'dot' as const),
    named: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(scripts, async ({ unknown, refusal, at, named }) => {
      const text = named && unknown[0] ? `${refusal} <${unknown[0]}>` : refusal
      const { script, taken } = refusing(unknown, text, at)
      const { attempts } = await deliverTo(script, names)
      const delivered = taken.flat()
      for (const [i, address] of names.entries()) {
        expect(attempts[i]!.outcome.kind === 'delivered').toBe(delivered.includes(address))
        if (!unknown.includes(address)) expect(outcomeOf(attempts[i]!)).toBe('delivered')
      }
      expect(delivered.toSorted()).toEqual([...new Set(delivered)].toSorted())
    }),
    { numRuns: 25 },
  )
})
