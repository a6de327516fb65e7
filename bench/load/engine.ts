import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { parseAddress } from '../../mail/address.ts'
import { createResolver } from '../../mail/dns/resolver.ts'
import { buildMessage } from '../../mail/mime/builder.ts'
import { signMessage } from '../../mail/mime/dkim.ts'
import type { Engine } from '../../mail/smtp/attempt.ts'
import { createEngine } from '../../mail/smtp/engine.ts'
import { startWorker, type Worker, work } from './process.ts'
import { TEXT } from './sends.ts'

export interface EngineRun {
  messages: number
  inFlight: number
}

/** Milliseconds of each `deliver` call, in the order in which the calls end. */
export type EngineTimes = number[]

/**
 * Starts the engine alone in its own process: everything between reading a request and writing its response,
 * without HTTP and database. All mail goes to the sink.
 */
export function startEngine(sinkPort: number): Promise<Worker<EngineRun, EngineTimes>> {
  return startWorker(import.meta.filename, [String(sinkPort)])
}

function serve(sinkPort: number): void {
  const engine = createEngine({
    heloName: 'bench.test',
    resolver: createResolver({ servers: [] }),
    mayDial: () => true,
    smtpPort: 25,
    routes: new Map([['to.test', { host: '127.0.0.1', port: sinkPort }]]),
  })
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  let sent = 0
  work(async ({ messages, inFlight }: EngineRun): Promise<EngineTimes> => {
    const times: EngineTimes = []
    let started = 0
    const lane = async () => {
      while (started++ < messages) times.push(await send({ engine, key: privateKey, number: ++sent }))
    }
    await Promise.all(Array.from({ length: inFlight }, lane))
    return times
  })
}

const from = parseAddress('a@from.test')!
const to = parseAddress('b@to.test')!

interface Job {
  engine: Engine
  key: KeyObject
  number: number
}

/** Sends one message. Returns the milliseconds of its `deliver` call. */
async function send({ engine, key, number }: Job): Promise<number> {
  const id = `${number}`.padStart(26, '0')
  const date = new Date()
  const lookUp = await engine.lookUp(to.domain)
  if (lookUp.kind !== 'site') throw new Error(lookUp.kind)
  const pieces = buildMessage({
    messageId: `msg_${id}@rp.from.test`,
    boundarySeed: id,
    date,
    from,
    to: [to],
    subject: `Message ${number}`,
    text: TEXT,
    headers: [],
    attachments: [],
  })
  const signature = await signMessage(pieces, {
    domain: from.domain,
    keys: [{ selector: 's1', key }],
    date,
  })
  const startedAtMs = performance.now()
  const [attempt] = await engine.deliver({
    senderFor: () => `b+${id}00@rp.from.test`,
    recipients: [{ address: to.address, site: lookUp.site }],
    content: [signature, ...pieces],
    startedAtMs,
    budgetMs: 30_000,
    beforeDot: async () => true,
  })
  if (attempt?.outcome.kind !== 'delivered') throw new Error(JSON.stringify(attempt))
  return performance.now() - startedAtMs
}

if (import.meta.main) serve(Number(process.argv[2]))
