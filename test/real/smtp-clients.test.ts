import { readFileSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { connectClient } from '../smtp-front/client.ts'
import type { Relay, RelayPlace } from './relay-world.ts'
import { startEximRelay, startOpensmtpdRelay, startPostfixRelay } from './relays.ts'
import { build, CLIENTS, contentOf, installCargo, send } from './smtp-clients/clients.ts'
import { CASES, type ClientWorld, FROM, type Play, startClientWorld } from './smtp-clients/world.ts'

// Programs and mail servers hand in mail with the settings that they have by default. The table of docs/smtp.md is what
// they say about it here: `WRITE_GUIDE=1 npm run test:real -- --project smtp-clients` writes it.

/** As docs/smtp.md sets them up; Sendmail is in relays.test.ts. `isLmtp`: they get a reply for each recipient. */
const RELAYS: Record<string, { start(place: RelayPlace): Promise<Relay>; isLmtp: boolean }> = {
  'Postfix over LMTP': { start: startPostfixRelay, isLmtp: true },
  'Exim over LMTP': { start: startEximRelay, isLmtp: true },
  'OpenSMTPD over SMTP': { start: startOpensmtpdRelay, isLmtp: false },
}

const GUIDE = 'docs/smtp.md'
const TABLE = /(?<=<!-- clients -->\n\n)[\s\S]*?(?=\n\n<!-- \/clients -->)/
const BUILD_AND_PLAY_MS = 900_000
/** Their queues are tried each second, or after two. */
const QUEUE_MS = 60_000

let world: ClientWorld
const rows = new Map<string, string[]>()
beforeAll(async () => {
  installCargo()
  world = await startClientWorld()
}, BUILD_AND_PLAY_MS)
/** A word for what the caller of a program got: `sent`, the code of the reply, or that there was none. */
function wordOf(line: string): string {
  if (line === 'sent') return 'sent'
  const [, code] = /\b([45]\d\d)[ -][45]\.\d/.exec(line) ?? /\b([45]\d\d)\b/.exec(line) ?? []
  return code ?? 'no reply'
}

/** The law for recipients with one reply: what is said last, after this number of copies to each. */
function checkLast(last: string, copies: readonly number[], what: string): void {
  const delivered = copies.filter((number) => number > 0).length
  expect(Math.max(...copies), what).toBeLessThanOrEqual(1)
  // Some got it: a failure for good would be wrong, and SMTP has no reply that says both.
  if (delivered > 0) expect(last, what).toBe('sent')
  else expect(last, what).not.toBe('sent')
}

async function playProgram(name: string): Promise<string[]> {
  const commandFor = await build(name, world.folder)
  const { key, authorityFile } = world
  const cells = Object.entries(CASES).map(async ([title, fates]) => {
    const play = world.play(fates, await world.openProxies())
    const subject = `${name} ${title}`.replaceAll(/\W+/g, '-')
    const mail = { port: play.proxies.smtp.port, key, from: FROM, to: play.recipients, subject, authorityFile }
    const lines = await send(commandFor(mail), mail)
    const words = lines.map(wordOf)
    checkLast(words.at(-1)!, play.copies(), `${name}, ${title}: ${lines.join('\n')}`)
    return words.join(', then ')
  })
  return Promise.all(cells)
}

async function submit(relay: Relay, { recipients }: Play, subject: string): Promise<void> {
  const client = await connectClient(relay.port)
  await client.ask('EHLO client.test')
  const content = contentOf({ from: FROM, to: recipients, subject })
  expect(await client.send({ from: FROM, to: recipients, content })).toMatch(/^250/)
  client.end()
}

/** What a relay has said about a recipient in the end, and before. */
function settledWords(relay: Relay, recipient: string): Promise<string[]> {
  const settled = () => {
    const fates = relay.words(recipient).map(({ fate }) => fate)
    expect(fates.at(-1) ?? '', `${recipient}\n${relay.log().slice(-5_000)}`).toMatch(/sent|bounced/)
    return fates
  }
  return vi.waitFor(settled, { timeout: QUEUE_MS, interval: 100 })
}

async function playRelay(name: string): Promise<string[]> {
  const { start, isLmtp } = RELAYS[name]!
  const proxies = await world.openProxies()
  const relay = await start({ ...world, ...proxies })
  const cells: string[] = []
  // One after the other: a cut meets all connections of the relay.
  for (const [title, fates] of Object.entries(CASES)) {
    const play = world.play(fates, proxies)
    await submit(relay, play, title)
    const words = await Promise.all(play.recipients.map((recipient) => settledWords(relay, recipient)))
    const [what, copies] = [`${name}, ${title}: ${relay.log().slice(-5_000)}`, play.copies()]
    if (isLmtp) for (const [i, of] of words.entries()) checkLast(of.at(-1)!, [copies[i]!], what)
    else checkLast(words.some((of) => of.at(-1) === 'sent') ? 'sent' : 'bounced', copies, what)
    cells.push([...new Set(words.map((of) => [...new Set(of)].join(', then ')))].join('; '))
  }
  await relay.stop()
  return cells
}

describe.concurrent('no recipient gets two, and each failure is known, in default settings', () => {
  test.for(Object.keys(CLIENTS))('%s', { timeout: BUILD_AND_PLAY_MS }, async (name) => {
    rows.set(name, await playProgram(name))
  })

  test.for(Object.keys(RELAYS))('%s', { timeout: BUILD_AND_PLAY_MS }, async (name) => {
    rows.set(name, await playRelay(name))
  })
})

test('the table of the guide is what the clients say here', () => {
  const lines = [...Object.keys(CLIENTS), ...Object.keys(RELAYS)].map((name) => [name, ...rows.get(name)!])
  const head = ['Client', ...Object.keys(CASES)]
  const widths = head.map((_, i) => Math.max(...[head, ...lines].map((line) => line[i]!.length)))
  const row = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  const table = [row(head), row(widths.map((width) => '-'.repeat(width))), ...lines.map(row)].join('\n')
  const guide = readFileSync(GUIDE, 'utf8')
  if (process.env.WRITE_GUIDE)
    writeFileSync(
      GUIDE,
      guide.replace(TABLE, () => table),
    )
  else expect(TABLE.exec(guide)?.[0]).toBe(table)
})
