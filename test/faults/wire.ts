import { PROBE } from '../../server/ledger/probe-writes.ts'
import { readStatements, type Statements } from '../harness/postgres-wire.ts'
import { type Act, startProxy, type TcpProxy, type WireMessage } from '../harness/proxy.ts'

/** A connection of the process: with its caller, its database or a mail server. */
export type Place = 'http' | 'postgres' | `mail ${string}`

/** A message at any place. */
export interface WireEvent extends WireMessage {
  place: Place
  /** The number of the message over all places, from 1. */
  total: number
  /** The database statements that the message starts or ends. */
  statements: Statements
}

export interface Wire {
  /** Is called for every message, and decides what happens to it. */
  onEvent: (event: WireEvent) => Act | undefined
  /** The number of messages at all places so far. */
  total: number
  /** Every UUID that the process has sent to its database, among them its claims of sends and batches. */
  uuids: Set<string>
  http: TcpProxy
  postgres: TcpProxy
  mail: Map<string, TcpProxy>
  close(): Promise<void>
}

const NOTHING: Statements = { starts: [], ends: [] }

/** Starts proxies for all connections of an API process: its callers, its database and the mail servers. */
export async function startWire(databaseUrl: string, mailPorts: Map<string, number>): Promise<Wire> {
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
      const statements = place === 'postgres' ? ofSends(statementsOf(message)) : NOTHING
      if (place === 'postgres' && message.direction === 'up') for (const uuid of uuidsIn(message)) wire.uuids.add(uuid)
      return wire.onEvent({ ...message, n: message.n, place, total: ++wire.total, statements })
    }
  }
  listen('http', http)
  listen('postgres', postgres)
  for (const [domain, proxy] of mail) listen(`mail ${domain}`, proxy)
  return wire
}

const isOfSend = (text: string) => !text.startsWith(PROBE)
const ofSends = ({ starts, ends }: Statements): Statements => ({
  starts: starts.filter(isOfSend),
  ends: ends.filter(isOfSend),
})

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const UUID_LENGTH = 36

/** Finds the UUIDs in messages to the database, also those that are split over two messages. */
function readUuids(): (message: WireMessage) => string[] {
  const tails = new Map<number, string>()
  return ({ connection, bytes }) => {
    const text = (tails.get(connection) ?? '') + bytes.toString('latin1')
    tails.set(connection, text.slice(1 - UUID_LENGTH))
    return Array.from(text.matchAll(UUID), ([uuid]) => uuid)
  }
}
