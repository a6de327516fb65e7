import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type Answer, AUTHORITATIVE_ANSWER, decode, encode, RECURSION_AVAILABLE } from 'dns-packet'
import { startWorker, work } from './process.ts'

/** `first` and `second` are the authoritative servers of every name, with the same records. */
export type Role = 'resolver' | 'first' | 'second'

export interface Dns extends AsyncDisposable {
  /** The resolver's address, in the form of DNS_SERVERS. */
  address: string
  /** The port of both authoritative servers. */
  port: number
  pid: number
  serve(served: Served): Promise<void>
}

export interface Served {
  records?: Answer[]
  /** The delay of each answer. */
  delayMs?: number
  silent?: Role[]
}

interface Ports {
  resolver: number
  authoritative: number
}

const HOSTS: Record<Role, string> = { resolver: '127.0.0.1', first: '127.0.53.1', second: '127.0.53.2' }
const ROLES = Object.keys(HOSTS) as Role[]

/** Starts DNS servers in their own process, over UDP. They answer NXDOMAIN when they have no record. */
export async function startDns(): Promise<Dns> {
  const worker = await startWorker<Served, Ports>(import.meta.filename)
  const { resolver, authoritative } = await worker.ask({})
  return {
    address: `${HOSTS.resolver}:${resolver}`,
    port: authoritative,
    pid: worker.pid,
    serve: async (served) => void (await worker.ask(served)),
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}

/** The NS records that delegate a zone to both authoritative servers. */
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
    const lowerCaseName = name.toLowerCase()
    const answers = zone.get(`${type} ${lowerCaseName}`) ?? zone.get(`CNAME ${lowerCaseName}`) ?? []
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
  const authoritative = await serve('first', 0)
  await serve('second', authoritative)
  work<Served, Ports>(async ({ records, delayMs = served.delayMs, silent = served.silent }) => {
    Object.assign(served, { delayMs, silent })
    if (records) {
      zone.clear()
      for (const record of records) add(record)
      for (const [i, role] of ROLES.slice(1).entries()) {
        add({ type: 'A', name: `ns${i + 1}.servers.example`, ttl: 60, data: HOSTS[role] })
      }
    }
    return { resolver, authoritative }
  })
}

if (import.meta.main) await listen()
