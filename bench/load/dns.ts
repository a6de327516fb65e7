import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type Answer, AUTHORITATIVE_ANSWER, decode, encode, RECURSION_AVAILABLE } from 'dns-packet'
import { startWorker, work } from './process.ts'

/** `first` and `second` are in charge of every name, and say the same. */
export type Role = 'resolver' | 'first' | 'second'

export interface Dns extends AsyncDisposable {
  /** Of the resolver, as DNS_SERVERS has it. */
  address: string
  /** Of the servers in charge. */
  port: number
  pid: number
  serve(served: Served): Promise<void>
}

export interface Served {
  records?: Answer[]
  /** Until each answer. */
  delayMs?: number
  silent?: Role[]
}

interface Ports {
  resolver: number
  inCharge: number
}

const HOSTS: Record<Role, string> = { resolver: '127.0.0.1', first: '127.0.53.1', second: '127.0.53.2' }
const ROLES = Object.keys(HOSTS) as Role[]

/** A DNS in a process of its own, over UDP. What it has no record of is NXDOMAIN. */
export async function startDns(): Promise<Dns> {
  const worker = await startWorker<Served, Ports>(import.meta.filename)
  const { resolver, inCharge } = await worker.ask({})
  return {
    address: `${HOSTS.resolver}:${resolver}`,
    port: inCharge,
    pid: worker.pid,
    serve: async (served) => void (await worker.ask(served)),
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}

/** The records that make both servers in charge of a zone. */
export function delegation(zone: string): Answer[] {
  return [1, 2].map((number) => ({ type: 'NS', name: zone, ttl: 60, data: `ns${number}.servers.example` }))
}

async function listen(): Promise<void> {
  const served = { delayMs: 0, silent: [] as Role[] }
  const zone = new Map<string, Answer[]>()

  function add(record: Answer): void {
    const key = `${record.type} ${record.name}`
    zone.set(key, [...(zone.get(key) ?? []), record])
  }

  function answer(role: Role, query: Buffer): Buffer {
    const { id, questions } = decode(query)
    const [{ name, type }] = questions as [{ name: string; type: string }]
    const plain = name.toLowerCase()
    const answers = zone.get(`${type} ${plain}`) ?? zone.get(`CNAME ${plain}`) ?? []
    const flags = (role === 'resolver' ? RECURSION_AVAILABLE : AUTHORITATIVE_ANSWER) | (answers.length > 0 ? 0 : 3)
    return encode({ type: 'response', id, flags, questions, answers })
  }

  async function serve(role: Role, port: number): Promise<number> {
    const socket = createSocket('udp4')
    socket.on('message', (query, from) => {
      if (served.silent.includes(role)) return
      setTimeout(() => socket.send(answer(role, query), from.port, from.address), served.delayMs)
    })
    socket.bind(port, HOSTS[role])
    await once(socket, 'listening')
    return socket.address().port
  }

  const resolver = await serve('resolver', 0)
  const inCharge = await serve('first', 0)
  await serve('second', inCharge)
  work<Served, Ports>(async ({ records, delayMs = served.delayMs, silent = served.silent }) => {
    Object.assign(served, { delayMs, silent })
    if (records) {
      zone.clear()
      for (const record of records) add(record)
      for (const [i, role] of ROLES.slice(1).entries()) {
        add({ type: 'A', name: `ns${i + 1}.servers.example`, ttl: 60, data: HOSTS[role] })
      }
    }
    return { resolver, inCharge }
  })
}

if (import.meta.main) await listen()
