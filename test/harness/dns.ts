import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  type Packet,
  RECURSION_AVAILABLE,
  streamEncode,
  TRUNCATED_RESPONSE,
} from 'dns-packet'

/** What the server does for a question, by `TYPE name`, `* name` or `*`. */
export type DnsAct =
  | Answer[]
  | 'nxdomain'
  | 'nodata'
  | 'servfail'
  | 'refused'
  | 'silence'
  /** Bytes that are no DNS message. */
  | 'garbage'
  | { after: number; act: DnsAct }
  /** As a list of records, but too long for UDP. */
  | { overTcp: Answer[] | 'silence' | 'close' }
  | { raw: (query: Buffer) => Buffer }
  /** The packet is changed at will before it is sent. */
  | { forge: (reply: Packet, query: Packet) => Packet[] }

export interface DnsServerForTests {
  /** As `createResolver` takes it. */
  address: string
  port: number
  zone: Record<string, DnsAct | ((times: number) => DnsAct)>
  /** `TYPE name` of each question, in lower case, `tcp ` in front where it came over TCP. */
  queries: string[]
  count(question: string): number
  close(): Promise<void>
}

interface DnsSetup {
  authoritative?: boolean
  /** Of loopback. */
  host?: string
  port?: number
}

const RCODES: Record<string, number> = { servfail: 2, nxdomain: 3, refused: 5 }

/**
 * A DNS server in this process, over UDP and TCP on one port of loopback. What its zone does not know is NXDOMAIN. It answers as a
 * resolver does, or as one in charge of all names (`authoritative`).
 */
export async function startDns(
  zone: DnsServerForTests['zone'] = {},
  { authoritative = false, host = '127.0.0.1', port: wanted = 0 }: DnsSetup = {},
): Promise<DnsServerForTests> {
  const { udp, tcp, port } = await bindBoth(host, wanted)
  const queries: string[] = []
  const counts = new Map<string, number>()
  const server: DnsServerForTests = { address: `${host}:${port}`, port, zone, queries, count, close }

  udp.on('message', (message, from) => {
    const send = (bytes: Buffer) => udp.send(bytes, from.port, from.address, () => {})
    answer(message, false, (packet) => send(Buffer.isBuffer(packet) ? packet : encode(packet)))
  })
  tcp.on('connection', (socket) => {
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      answer(
        chunk.subarray(2),
        true,
        (packet) => socket.write(Buffer.isBuffer(packet) ? packet : streamEncode(packet)),
        () => socket.destroy(),
      )
    })
  })

  function answer(message: Buffer, isTcp: boolean, send: (packet: Packet | Buffer) => void, hangUp?: () => void): void {
    const query = decode(message)
    const question = query.questions![0]!
    const name = question.name.toLowerCase()
    const key = `${question.type} ${name}`
    const times = count(key)
    const asked = isTcp ? `tcp ${key}` : key
    queries.push(asked)
    counts.set(asked, count(asked) + 1)
    const scripted = zone[key] ?? zone[`* ${name}`] ?? zone['*'] ?? 'nxdomain'
    perform(typeof scripted === 'function' ? scripted(times) : scripted)

    function perform(act: DnsAct): void {
      const reply = (answers: Answer[], flags = 0) => ({
        type: 'response' as const,
        id: query.id,
        flags: (authoritative ? AUTHORITATIVE_ANSWER : RECURSION_AVAILABLE) | flags,
        questions: query.questions,
        answers,
      })
      if (Array.isArray(act)) send(reply(act))
      else if (act === 'nodata') send(reply([]))
      else if (act === 'garbage') send(Buffer.from('this is not DNS at all, is it?'))
      else if (act === 'silence') return
      else if (typeof act === 'string') send(reply([], RCODES[act]))
      else if ('raw' in act) send(act.raw(message))
      else if ('act' in act) setTimeout(() => perform(act.act), act.after)
      else if ('forge' in act) for (const packet of act.forge(reply([]), query)) send(packet)
      else if (!isTcp) send(reply([], TRUNCATED_RESPONSE))
      else if (act.overTcp === 'close') hangUp?.()
      else if (act.overTcp !== 'silence') send(reply(act.overTcp))
    }
  }

  function count(question: string): number {
    return counts.get(question) ?? 0
  }

  async function close(): Promise<void> {
    tcp.close()
    await new Promise<void>((resolve) => udp.close(resolve))
  }
  return server
}

/** One free port of both kinds; where TCP finds one that UDP has in use, another. */
async function bindBoth(host: string, wanted: number): Promise<{ udp: Socket; tcp: Server; port: number }> {
  const tcp = createServer()
  await once(tcp.listen(wanted, host), 'listening')
  const { port } = tcp.address() as { port: number }
  const udp = createSocket('udp4')
  try {
    udp.bind(port, host)
    await once(udp, 'listening')
    return { udp, tcp, port }
  } catch {
    tcp.close()
    if (wanted !== 0) throw new Error(`${host}:${wanted} is in use`)
    return bindBoth(host, wanted)
  }
}

export function mx(name: string, preference: number, exchange: string, ttl = 300): Answer {
  return { type: 'MX', name, ttl, data: { preference, exchange } }
}

export function a(name: string, data: string, ttl = 300): Answer {
  return { type: 'A', name, ttl, data }
}

export function aaaa(name: string, data: string, ttl = 300): Answer {
  return { type: 'AAAA', name, ttl, data }
}

/** Each string of a record has at most 255 octets. */
export function txt(name: string, data: string | string[], ttl = 300): Answer {
  return { type: 'TXT', name, ttl, data: [data].flat() }
}

export function ns(name: string, data: string, ttl = 300): Answer {
  return { type: 'NS', name, ttl, data }
}

export function cname(name: string, data: string, ttl = 300): Answer {
  return { type: 'CNAME', name, ttl, data }
}
