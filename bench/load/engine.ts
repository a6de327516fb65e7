import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { parseAddress } from '../../server/address.ts'
import { createResolver } from '../../server/dns/resolver.ts'
import { buildMessage } from '../../server/mime/builder.ts'
import { signMessage } from '../../server/mime/dkim.ts'
import type { Engine } from '../../server/smtp/attempt.ts'
import { createEngine } from '../../server/smtp/engine.ts'
import { startWorker, type Worker, work } from './process.ts'

export interface EngineRun {
  messages: number
  /** Of text in each message. */
  bytes: number
  inFlight: number
}

/** Milliseconds that each `deliver` took, in the order of their ends. */
export type EngineTimes = number[]

/**
 * The engine alone in a process of its own: what lies between a request that was read and the answer that will be written,
 * without HTTP and database. Everything goes to the sink.
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
  work(async ({ messages, bytes, inFlight }: EngineRun): Promise<EngineTimes> => {
    const text = textOf(bytes)
    const times: EngineTimes = []
    let begun = 0
    const lane = async () => {
      while (begun++ < messages) times.push(await send({ engine, key: privateKey, number: ++sent, text }))
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
  text: string
}

/** Milliseconds of `deliver`. */
async function send({ engine, key, number, text }: Job): Promise<number> {
  const id = `${number}`.padStart(26, '0')
  const date = new Date()
  const found = await engine.lookUp(to.domain)
  if (found.kind !== 'site') throw new Error(found.kind)
  const pieces = buildMessage({
    messageId: `msg_${id}@rp.from.test`,
    boundarySeed: id,
    date,
    from,
    to: [to],
    subject: `Message ${number}`,
    text,
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
    sender: `b.${id}@rp.from.test`,
    recipients: [{ address: to.address, site: found.site }],
    content: [signature, ...pieces],
    startedAtMs,
    budgetMs: 30_000,
    beforeDot: async () => true,
  })
  if (attempt?.outcome.kind !== 'delivered') throw new Error(JSON.stringify(attempt))
  return performance.now() - startedAtMs
}

/** Lines of 78 characters, as `smtp-source` writes them. */
function textOf(bytes: number): string {
  return `${'X'.repeat(78)}\r\n`.repeat(Math.ceil(bytes / 80)).slice(0, bytes)
}

if (import.meta.main) serve(Number(process.argv[2]))
