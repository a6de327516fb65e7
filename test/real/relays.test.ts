import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../harness/eventually.ts'
import { FATES, type Fault, FROM, lastWords, MOMENTS, type Moment, type Relay, startRelayWorld } from './relay-world.ts'
import { startEximRelay, startPostfixRelay, startSendmailRelay } from './relays.ts'

// Mail servers whose way out is the service, as docs/smtp.md sets them up. Whatever is lost on the way: no recipient
// gets a message twice, and each has its own fate.

let world: Awaited<ReturnType<typeof startRelayWorld>>
beforeAll(async () => {
  world = await startRelayWorld()
})
const IN_DOUBT = /5\.4\.7/
const LOSSES = MOMENTS.flatMap((moment) => (['cut', 'kill'] as Fault[]).map((fault) => [moment, fault] as const))

/** The message arrives once where it can, the relay knows it, and the others come back to the sender's mailbox. */
async function check(relay: Relay, to: Awaited<ReturnType<typeof world.submit>>, mayBeInDoubt = false): Promise<void> {
  const last = await lastWords(relay, Object.values(to))
  const { delivered, greylisted, refused } = Object.fromEntries(FATES.map((fate, i) => [fate, last[i]!]))
  expect(Object.values(to).map(world.arrived), relay.log().slice(-5_000)).toEqual([1, 1, 0])
  if (mayBeInDoubt && delivered!.fate === 'bounced') expect(delivered!.text).toMatch(IN_DOUBT)
  else expect(delivered!.text).toMatch(/2\.0\.0 msg_\w{26}: /)
  expect(delivered!.fate === 'sent' || mayBeInDoubt, delivered!.text).toBe(true)
  expect(greylisted).toMatchObject({ fate: 'sent', text: expect.stringMatching(/2\.0\.0 msg_\w{26}: /) })
  expect(refused).toMatchObject({ fate: 'bounced', text: expect.stringMatching(/5\.1\.1/) })
  await eventually(() => {
    const bounces = world.home.messages.filter(({ content }) => content.includes(to.refused))
    expect(
      bounces.map(({ from, to }) => [from, to]),
      relay.log().slice(-5_000),
    ).toEqual([['', [FROM]]])
  })
}

describe.each([
  ['Postfix over LMTP', startPostfixRelay],
  ['Exim over LMTP', startEximRelay],
  ['Sendmail over SMTP', startSendmailRelay],
] as const)('%s', (_, start) => {
  let relay: Relay
  beforeAll(async () => {
    relay = await start(world)
  })
  // The relays share one world, which loses replies: only one may run.
  afterAll(() => relay?.stop())
  test('three fates of one message: in one run of the queue two are final, and the third is tried alone', async () => {
    const to = await world.submit(relay)
    await check(relay, to)
    const fates = Object.values(to).map((recipient) => relay.words(recipient).map(({ fate }) => fate))
    expect(fates).toEqual([['sent'], ['deferred', 'sent'], ['bounced']])
    const [first, second] = relay.words(to.greylisted).map(({ text }) => /msg_\w{26}/.exec(text)![0])
    expect(await world.get(`/api/v1/emails/${second}`)).toMatchObject({ retry_of: first })
  })

  test.each(LOSSES)(
    'an answer that is lost at the %s by a %s: no recipient gets two, each is right',
    async (...loss) => {
      const [moment, fault]: [Moment, Fault] = loss
      world.lose(moment, fault)
      const to = await world.submit(relay)
      await check(relay, to, moment === 'dot' && fault === 'kill')
      expect(world.isLost()).toBe(true)
    },
  )
})
