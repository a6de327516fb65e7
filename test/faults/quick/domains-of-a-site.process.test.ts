import { expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { killAt } from '../kill.ts'
import { endOf, MARKER, messageOf } from '../points.ts'
import { startFaultWorld } from '../world.ts'

/** The server replies later to recipients of its second domain, so that the two transactions of a message are apart. */
const SECOND_LATER = {
  rcpt: (line: string) => (line.includes('@also.') ? ({ after: 1_500, act: '250 2.1.5 ok' } as const) : undefined),
}

const world = untilEnd(await startFaultWorld({ mail: { 'one.example': SECOND_LATER } }))

const letterTo = (request: string) => ({
  request,
  to: [`ann.${request}@one.example`, `ann.${request}@also.one.example`],
  text: 'All is well.',
})

test.each([
  [
    'the dots of two domains of one site',
    'first',
    1,
    { is: messageOf('mail', 'up', /(^|\r\n)\.\r\n$/) },
    [true, false],
  ],
  ['the second marker and its dot', 'second', 2, { is: endOf(MARKER) }, [true, true]],
] as const)(
  'a process killed between %s leaves each recipient as its own marker says',
  async (_, name, nth, point, marked) => {
    const node = await world.start()
    let passed = 0
    const is: typeof point.is = (event) => point.is(event) && ++passed === nth
    expect(await killAt(node, [letterTo(name)], { is })).toBe(true)
    const open = world.logs.processes.findLast((process) => process.event === 'crashed')!.open
    const markedOf = (domain: string) => open.find(({ email }) => email.endsWith(`@${domain}`))?.marked
    expect([markedOf('one.example'), markedOf('also.one.example')]).toEqual(marked)
    expect(await world.verdict()).toEqual([])
  },
)
