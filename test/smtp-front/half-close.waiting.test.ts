import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CERTIFICATE } from '../harness/certificates.ts'
import { eventually } from '../harness/eventually.ts'
import { plainLogin, stuffed } from './client.ts'
import { letter, startFrontWorld } from './world.ts'

// A client closes its sending side, and reads on: shutdown(SHUT_WR). Whatever it has sent whole before is answered, and
// the rest is nothing.

const { api, listenWith } = await startFrontWorld({ tls: CERTIFICATE, maxRecipients: 100 })
const { exchanger } = api.world

const DOORS = {
  smtp: await listenWith(),
  starttls: await listenWith(),
  tls: await listenWith({ implicitTls: true }),
  lmtp: await listenWith({ isLmtp: true }),
  'lmtp starttls': await listenWith({ isLmtp: true }),
}
type Door = keyof typeof DOORS

/** What is sent, and the codes of the replies to it. */
interface Unit {
  text: string
  codes: string[]
}

/** The replies to the dot for the fates of the recipients. */
const FATES = { delivered: '250', later: '450', refused: '552' }
type Fate = keyof typeof FATES

function conversation(door: Door, recipients: readonly string[], last: readonly string[]): Unit[] {
  const isLmtp = door.startsWith('lmtp')
  const codes = recipients.map((one) => FATES[one.split('.')[0] as Fate])
  const one = codes.length === 1 ? codes[0]! : codes.includes('450') ? '451' : codes.includes('250') ? '250' : '552'
  const unit = (text: string, ...codes: string[]): Unit => ({ text: `${text}\r\n`, codes })
  return [
    unit(`${isLmtp ? 'LHLO' : 'EHLO'} client.test`, '250'),
    unit(plainLogin(api.keys.live), '235'),
    unit('MAIL FROM:<hello@example.test>', '250'),
    ...recipients.map((recipient) => unit(`RCPT TO:<${recipient}>`, '250')),
    unit('DATA', '354'),
    { text: stuffed(letter()).toString('latin1'), codes: isLmtp ? codes : [one] },
    ...last.map((verb) => unit(verb, verb === 'QUIT' ? '221' : '250')),
  ]
}

/** The units that end within this number of octets. */
const wholeOf = (units: readonly Unit[], octets: number) => {
  let end = 0
  return units.filter(({ text }) => {
    end += text.length
    return end <= octets
  })
}

async function open(door: Door): Promise<Socket> {
  const { port } = DOORS[door]
  const own = { port, host: '127.0.0.1', allowHalfOpen: true, rejectUnauthorized: false }
  if (door === 'tls') return connectTls(own)
  const socket = connect(own)
  if (!door.endsWith('starttls')) return socket
  await once(socket, 'data')
  for (const line of [`${door.startsWith('lmtp') ? 'LHLO' : 'EHLO'} client.test`, 'STARTTLS']) {
    socket.write(`${line}\r\n`)
    await once(socket, 'data')
  }
  const secure = connectTls({ socket, rejectUnauthorized: false })
  await once(secure, 'secureConnect')
  return secure
}

interface Case {
  door: Door
  fates: Fate[]
  last: string[]
  /** Where the client stops: a number of whole units, and of octets of the next one. */
  units: number
  octets: number
  /** After this number of units the client waits for their replies. */
  inStep: number
  /** The recipients' server answers RCPT before the client has closed its sending side, or after. */
  isSlow: boolean
  /** Turns of the event loop between the last octet and the end. */
  turns: number
}

const fate = fc.constantFrom(...(Object.keys(FATES) as Fate[]))
const cases: fc.Arbitrary<Case> = fc.record({
  door: fc.constantFrom(...(Object.keys(DOORS) as Door[])),
  fates: fc.oneof(fc.tuple(fate), fc.tuple(fate, fate, fate)),
  last: fc.constantFrom([], ['QUIT'], ['NOOP'], ['NOOP', 'NOOP', 'QUIT']),
  // Half of them reach the final dot.
  units: fc.oneof(fc.nat(12), fc.integer({ min: 6, max: 12 })),
  octets: fc.oneof(fc.constant(0), fc.nat(400)),
  inStep: fc.nat(12),
  isSlow: fc.boolean(),
  turns: fc.nat(3),
})

let count = 0
const released = new Map<string, Promise<unknown>>()

/** Returns the codes of all replies but the greeting. */
async function play({ door, fates, last, turns, ...at }: Case) {
  const recipients = fates.map((one) => `${one}.${++count}@example.net`)
  const units = conversation(door, recipients, last)
  const lengthOf = (some: readonly Unit[]) => some.reduce((sum, { text }) => sum + text.length, 0)
  const text = units.map((unit) => unit.text).join('')
  const cut = Math.min(lengthOf(units.slice(0, at.units)) + at.octets, text.length)
  const asked = wholeOf(units, cut)
  const dot = units.length - last.length
  // What is answered after the end is not waited for.
  const inStep = Math.min(at.inStep, asked.length, at.isSlow ? dot - 1 : Number.POSITIVE_INFINITY)
  const { promise, resolve } = Promise.withResolvers<void>()
  if (at.isSlow) for (const recipient of recipients) released.set(recipient, promise)

  const socket = await open(door)
  let got = ''
  let wake = () => {}
  socket.on('data', (data) => {
    got += data.toString('latin1')
    wake()
  })
  const ended = once(socket, 'close')
  const codes = () => [...got.matchAll(/^(\d{3})(?: .*)?\r\n/gm)].map(([, code]) => code!)
  const hasCodes = async (number: number) => {
    while (codes().length < number) {
      await new Promise<void>((next) => {
        wake = next
      })
    }
  }
  const greetings = door.endsWith('starttls') ? 0 : 1
  if (greetings > 0) await hasCodes(greetings)
  const first = units.slice(0, inStep)
  socket.write(text.slice(0, lengthOf(first)), 'latin1')
  await hasCodes(greetings + first.flatMap((unit) => unit.codes).length)
  socket.write(text.slice(lengthOf(first), cut), 'latin1')
  for (let i = 0; i < turns; i++) await nextTurn()
  socket.end()
  await once(socket, 'finish')
  for (let i = 0; i < 5; i++) await nextTurn()
  resolve()
  socket.on('end', () => socket.destroy())
  await ended
  const isMailed = exchanger.messages.some(({ to }) => to.some((one) => recipients.includes(one)))
  return {
    codes: codes().slice(greetings),
    isMailed,
    expected: asked.flatMap((unit) => unit.codes),
    shouldBeMailed: asked.length >= dot && fates.includes('delivered'),
  }
}

test('whatever was sent whole before the half-close is answered, and what was not is nothing', async () => {
  exchanger.script = {
    rcpt: (line) => {
      const [, address = '', name] = /<((\w+)\.[^>]+)>/.exec(line) ?? []
      const act = name === 'later' ? '450 4.2.0 later' : name === 'refused' ? '552 5.2.2 no space' : '250 2.1.5 ok'
      return { after: released.get(address) ?? Promise.resolve(), act }
    },
  }
  await fc.assert(
    fc.asyncProperty(fc.array(cases, { minLength: 12, maxLength: 12 }), async (several) => {
      for (const one of await Promise.all(several.map(play))) {
        expect([one.codes, one.isMailed]).toEqual([one.expected, one.shouldBeMailed])
      }
    }),
    { numRuns: 20 },
  )
})

test('a client that leaves before the greeting, or without a word, keeps no connection', async () => {
  const { port, connections } = DOORS.smtp
  const sockets = Array.from({ length: 5 }, () => connect({ port, host: '127.0.0.1', allowHalfOpen: true }))
  const ends = sockets.map((socket) => once(socket.resume().end(), 'end'))
  await Promise.all(ends)
  await eventually(() => expect(connections()).toBe(0))
  for (const socket of sockets) socket.destroy()
})
