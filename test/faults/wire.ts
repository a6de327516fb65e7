import { readStatements, type Statements } from '../harness/postgres-wire.ts'
import { type Act, startProxy, type TcpProxy, type WireMessage } from '../harness/proxy.ts'

/** Between whom: the caller and the process, the process and its database, the process and a mail server. */
export type Place = 'http' | 'postgres' | `mail ${string}`

/** A message of any of them. */
export interface WireEvent extends WireMessage {
  place: Place
  /** Of the messages at all places, from 1. */
  total: number
  /** With the database: what the message asks for or answers. */
  statements: Statements
}

export interface Wire {
  /** Asked about every message; what it says happens to it. */
  onEvent: (event: WireEvent) => Act | undefined
  /** Messages at all places so far. */
  total: number
  /** All that the process has said to its database: its claims of sends and batches are among them. */
  uuids: Set<string>
  http: TcpProxy
  postgres: TcpProxy
  mail: Map<string, TcpProxy>
  close(): Promise<void>
}

const NOTHING: Statements = { starts: [], ends: [] }

/** Proxies at every place where a process of the API speaks with anybody. */
export async function layWire(databaseUrl: string, mailPorts: Map<string, number>): Promise<Wire> {
  const { hostname, port } = new URL(databaseUrl)
  const statementsOf = readStatements()
  const uuidsIn = readUuids()
  const http = await startProxy()
  const postgres = await startProxy({ host: hostname, port: Number(port) })
  const mail = new Map<string, TcpProxy>()
  for (const [domain, port] of mailPorts) mail.set(domain, await startProxy({ host: '127.0.0.1', port }))
  const close = async () => {
    await Promise.all([http, postgres, ...mail.values()].map((proxy) => proxy.close()))
  }
  const wire: Wire = { onEvent: () => undefined, total: 0, uuids: new Set(), http, postgres, mail, close }

  function listen(place: Place, proxy: TcpProxy): void {
    proxy.onMessage = (message) => {
      const statements = place === 'postgres' ? statementsOf(message) : NOTHING
      if (place === 'postgres' && message.direction === 'up') for (const uuid of uuidsIn(message)) wire.uuids.add(uuid)
      return wire.onEvent({ ...message, n: message.n, place, total: ++wire.total, statements })
    }
  }
  listen('http', http)
  listen('postgres', postgres)
  for (const [domain, proxy] of mail) listen(`mail ${domain}`, proxy)
  return wire
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const UUID_LENGTH = 36

/** The UUIDs in what is said to the database, also where a message ends within one. */
function readUuids(): (message: WireMessage) => string[] {
  const ends = new Map<number, string>()
  return ({ connection, bytes }) => {
    const text = (ends.get(connection) ?? '') + bytes.toString('latin1')
    ends.set(connection, text.slice(1 - UUID_LENGTH))
    return Array.from(text.matchAll(UUID), ([uuid]) => uuid)
  }
}
