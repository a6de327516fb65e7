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
  /** Of the sends that the process has claimed, or has tried to. */
  claims: Set<string>
  http: TcpProxy
  postgres: TcpProxy
  mail: Map<string, TcpProxy>
  close(): Promise<void>
}

const NOTHING: Statements = { asked: [], answered: [] }

/** Proxies at every place where a process of the API speaks with anybody. */
export async function layWire(databaseUrl: string, mailPorts: Map<string, number>): Promise<Wire> {
  const { hostname, port } = new URL(databaseUrl)
  const statementsOf = readStatements()
  const claimsIn = readClaims()
  const http = await startProxy()
  const postgres = await startProxy({ host: hostname, port: Number(port) })
  const mail = new Map<string, TcpProxy>()
  for (const [domain, port] of mailPorts) mail.set(domain, await startProxy({ host: '127.0.0.1', port }))
  const close = async () => {
    await Promise.all([http, postgres, ...mail.values()].map((proxy) => proxy.close()))
  }
  const wire: Wire = { onEvent: () => undefined, total: 0, claims: new Set(), http, postgres, mail, close }

  function listen(place: Place, proxy: TcpProxy): void {
    proxy.onMessage = (message) => {
      const statements = place === 'postgres' ? statementsOf(message) : NOTHING
      if (place === 'postgres' && message.direction === 'up')
        for (const claim of claimsIn(message)) wire.claims.add(claim)
      return wire.onEvent({ ...message, n: message.n, place, total: ++wire.total, statements })
    }
  }
  listen('http', http)
  listen('postgres', postgres)
  for (const [domain, proxy] of mail) listen(`mail ${domain}`, proxy)
  return wire
}

const CLAIM = /"claim":"([0-9a-f-]{36})"/g
const CLAIM_LENGTH = 46

/** The claims that statements name in their JSON, also where a message ends within one. */
function readClaims(): (message: WireMessage) => string[] {
  const ends = new Map<number, string>()
  return ({ connection, bytes }) => {
    const text = (ends.get(connection) ?? '') + bytes.toString('latin1')
    ends.set(connection, text.slice(1 - CLAIM_LENGTH))
    return Array.from(text.matchAll(CLAIM), ([, claim]) => claim!)
  }
}
