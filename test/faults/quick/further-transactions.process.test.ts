import { expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { killAt } from '../kill.ts'
import { endOf, MARKER, messageOf } from '../points.ts'
import { startFaultWorld } from '../world.ts'

let accepted = 0

/** The server takes one recipient of a transaction, and refuses the others because of their number. */
const ONE_AT_A_TIME = {
  mail: () => {
    accepted = 0
    return undefined
  },
  rcpt: () => (++accepted > 1 ? '452 4.5.3 Too many recipients' : undefined),
}

const world = untilEnd(await startFaultWorld({ mail: { 'one.example': ONE_AT_A_TIME } }))

const NAMES = ['ann', 'ben', 'eve']
const letterTo = (request: string) => ({
  request,
  to: NAMES.map((name) => `${name}.${request}@one.example`),
  text: 'All is well.',
})

test.each([
  ['the first dot', 'dot', 1, { is: messageOf('mail', 'up', /(^|\r\n)\.\r\n$/) }, [true, false, false]],
  [
    'the reply to the first dot',
    'reply',
    1,
    { is: messageOf('mail', 'down', /^250 2\.0\.0 queued/m) },
    [true, false, false],
  ],
  ['the second envelope', 'envelope', 2, { is: messageOf('mail', 'up', /MAIL FROM/) }, [true, false, false]],
  ['the second marker', 'marker', 2, { is: endOf(MARKER) }, [true, true, false]],
  ['the second dot', 'second', 2, { is: messageOf('mail', 'up', /(^|\r\n)\.\r\n$/) }, [true, true, false]],
] as const)(
  'a process killed at %s leaves in doubt whom a dot may have reached, and no other recipient of the domain',
  async (_, name, nth, point, marked) => {
    const node = await world.start()
    let passed = 0
    const is: typeof point.is = (event) => point.is(event) && ++passed === nth
    expect(await killAt(node, [letterTo(name)], { is })).toBe(true)
    const open = world.logs.processes.findLast((process) => process.event === 'crashed')!.open
    const markedOf = (who: string) => open.find(({ email }) => email.startsWith(`${who}.`))?.marked
    expect(NAMES.map(markedOf)).toEqual(marked)
    expect(await world.verdict()).toEqual([])
  },
)
