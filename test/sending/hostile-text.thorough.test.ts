import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { DeliveryStatus, Reason, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Engine, SmtpAttempt } from '../../mail/smtp/attempt.ts'
import { cleanJson, cleanText } from '../../net/clean-text.ts'
import { parsePublicId } from '../../server/db/ids.ts'
import { run } from '../../server/db/statement.ts'
import { storedOutcomes } from '../../server/sending/stored-response.ts'
import { HOSTILE, hostile, rawRecord, respond } from '../harness/hostile.ts'
import type { Verb } from '../harness/smtp-script.ts'
import { message, script, startSendingWorld } from './world.ts'

// Recipients' mail servers and DNS zones may send any text. Every outcome is stored, and none of the text harms a
// reader.

const world = await startSendingWorld()
// Some of these replies are hard bounces.
beforeEach(() => run(world.db, 'truncate suppressions, refusals'))

type Change = Parameters<typeof message>[0]

async function send(change: Change, engine: Engine = world.engine, sandbox = false) {
  const response = await world.sendAlone({ engine })(message(change), world.options({ sandbox }))
  return { response, stored: await storedOutcomes(world.db, parsePublicId('msg', response.messageId)!) }
}

test('clean text has no harmful characters, all others stay, and no two characters become neighbours', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const clean = cleanText(text)
      expect(clean).not.toMatch(HOSTILE)
      expect(clean.length).toBeGreaterThanOrEqual([...text].length)
      expect(cleanText(clean)).toBe(clean)
      expect(JSON.parse(cleanJson(JSON.stringify({ text })))).toEqual({ text })
      expect(cleanJson(JSON.stringify({ text }))).not.toMatch(HOSTILE)
    }),
  )
  expect(cleanText('Grüße, 世界 🙂\n', { keep: '\n' })).toBe('Grüße, 世界 🙂\n')
})

test('the outcome is stored and its evidence is clean, whatever a mail server replies to any command', async () => {
  const verbs: Verb[] = ['greeting', 'ehlo', 'mail', 'rcpt', 'data', 'dot']
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...verbs), fc.constantFrom(250, 450, 550), hostile, async (verb, code, words) => {
      const line = Buffer.from(`${code} ${words.replace(/[\r\n]/g, '\v')}\r\n`)
      const engine = world.engineWith()
      script(world, { [verb]: { raw: Buffer.concat([Buffer.from(`${code}-\xff\xc3\r\n`, 'latin1'), line]) } })
      await run(world.db, 'truncate suppressions, refusals')
      const { response, stored } = await send({}, engine)
      engine.close()
      expect(JSON.stringify(response, bigintless)).not.toMatch(HOSTILE)
      expect(stored).toHaveLength(1)
      expect(stored[0]!.status).toBe(response.status)
    }),
    { numRuns: 30 },
  )
})

test('every outcome is stored and returned, whatever names the exchangers of one domain have', async () => {
  const engine = world.engineWith({
    policyOf: async (domain) =>
      domain.startsWith('strict') ? { mode: 'enforce', mx: ['mx.example.net'], maxAgeS: 60 } : undefined,
  })
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 1, maxLength: 63 }),
      fc.constantFrom('strict', 'loose'),
      async (label, kind) => {
        const domain = `${kind}${runs++}.example.org`.replace('.org', '-x.org')
        const exchange = Buffer.concat([Buffer.from([0, 10, label.length]), label, Buffer.from('\x04test\0', 'latin1')])
        world.dns.zone[`MX ${domain}`] = { raw: (query) => respond(query, rawRecord('MX', exchange)) }
        const { response, stored } = await send({ to: ['ann@example.net', `bob@${domain}`] }, engine)
        const [good, bad] = response.recipients
        expect(good).toMatchObject({ status: DeliveryStatus.DELIVERED })
        expect(bad!.status).toBe(DeliveryStatus.BOUNCED)
        expect(JSON.stringify(response, bigintless)).not.toMatch(HOSTILE)
        expect(stored).toHaveLength(2)
        const dry = await send({ to: [`bob@${domain}`] }, engine, true)
        expect(JSON.stringify(dry.response, bigintless)).not.toMatch(HOSTILE)
      },
    ),
    { numRuns: 20, examples: [[Buffer.from('a\0b\x1b[31m\u202e'), 'strict']] },
  )
  engine.close()
})

const bigintless = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

/** An engine that returns text which the real one would clean. */
function engineReplying(text: string): Engine {
  const attempt = (outcome: SmtpAttempt['outcome']): SmtpAttempt => {
    const reply = { code: outcome.kind === 'delivered' ? 250 : 550, text }
    const tried = [{ mx: text, ip: '192.0.2.1', phase: 'connect' as const, detail: text }]
    const evidence = { mx: text, detail: text, tls: null, durationMs: 1, timings: { dot: 1.26 }, tried }
    return { phase: 'dot', outcome, reply, reused: true, ...evidence }
  }
  return {
    lookUp: async (domain) =>
      domain === 'nowhere.org'
        ? { kind: 'no_mx_record', detail: text }
        : { kind: 'site', site: { key: domain, hosts: [] } },
    deliver: async ({ recipients, beforeDot }) => {
      await beforeDot([0], [])
      return recipients.map((_, i) =>
        attempt(i === 0 ? { kind: 'delivered' } : { kind: 'bounced', reason: 'policy_block', retryable: false }),
      )
    },
    close: () => {},
  }
}

test.each(['a NUL \0', 'half a pair \ud83d'])(
  'an outcome that the database refuses for its text (%j) is stored and returned without it',
  async (text) => {
    const { response, stored } = await send({ to: ['ann@one.org', 'bob@two.org'] }, engineReplying(text))
    expect(response.recipients).toMatchObject([
      { status: DeliveryStatus.DELIVERED, smtp: { code: 250 } },
      { status: DeliveryStatus.BOUNCED, reason: Reason.POLICY_BLOCK, smtp: { code: 550 } },
    ])
    expect(stored).toEqual(response.recipients)
    for (const { smtp } of stored) {
      expect(smtp).toMatchObject({ reused: true, timings: { dot: 1.3 } })
      expect(smtp!.tried).toMatchObject([{ ip: '192.0.2.1', phase: SmtpPhase.CONNECT }])
    }
    const alone = await send({ to: ['eve@nowhere.org'] }, engineReplying(text))
    expect(alone.stored).toMatchObject([{ status: DeliveryStatus.BOUNCED, reason: Reason.NO_MX_RECORD }])
  },
)
