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

/** What the server does with a question. The zone's keys are `TYPE name`, `* name` and `*`. */
export type DnsAct =
  | Answer[]
  | 'nxdomain'
  | 'nodata'
  | 'servfail'
  | 'refused'
  | 'silence'
  /** Sends bytes that are not a DNS message. */
  | 'garbage'
  | { after: number; act: DnsAct }
  /** Truncates the answer over UDP, and does this over TCP. */
  | { overTcp: Answer[] | 'silence' | 'close' }
  | { raw: (query: Buffer) => Buffer }
  /** Sends these packets instead of `reply`, an empty answer. */
  | { forge: (reply: Packet, query: Packet) => Packet[] }

export interface DnsServerForTests {
  /** `host:port`, as `createResolver` takes it. */
  address: string
  port: number
  zone: Record<string, DnsAct | ((times: number) => DnsAct)>
  /** `TYPE name` of each question, with the name in lower case. A question over TCP starts with `tcp `. */
  queries: string[]
  count(question: string): number
  close(): Promise<void>
}

interface DnsSetup {
  authoritative?: boolean
  /** An address of the loopback network. */
  host?: string
  port?: number
}

const RCODES: Record<string, number> = { servfail: 2, nxdomain: 3, refused: 5 }

/**
 * Starts a DNS server in this process, over UDP and TCP on one loopback port. Names that are not in its zone get
 * NXDOMAIN. It answers like a resolver or, with `authoritative`, like the authoritative server of all names.
 */
export async function startDns(
  zone: DnsServerForTests['zone'] = {},
  { authoritative = false, host = '127.0.0.1', port: requestedPort = 0 }: DnsSetup = {},
): Promise<DnsServerForTests> {
  const { udp, tcp, port } = await bindBoth(host, requestedPort)
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
    const entry = isTcp ? `tcp ${key}` : key
    queries.push(entry)
    counts.set(entry, count(entry) + 1)
    const script = zone[key] ?? zone[`* ${name}`] ?? zone['*'] ?? 'nxdomain'
    perform(typeof script === 'function' ? script(times) : script)

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

/**
 * Binds a port that is free for both TCP and UDP. When UDP already uses the port that TCP got, it tries another one.
 */
async function bindBoth(host: string, requestedPort: number): Promise<{ udp: Socket; tcp: Server; port: number }> {
  const tcp = createServer()
  await once(tcp.listen(requestedPort, host), 'listening')
  const { port } = tcp.address() as { port: number }
  const udp = createSocket('udp4')
  try {
    udp.bind(port, host)
    await once(udp, 'listening')
    return { udp, tcp, port }
  } catch {
    tcp.close()
    if (requestedPort !== 0) throw new Error(`${host}:${requestedPort} is in use`)
    return bindBoth(host, requestedPort)
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

/** A TXT record of one or more strings, each of at most 255 octets. */
export function txt(name: string, data: string | string[], ttl = 300): Answer {
  return { type: 'TXT', name, ttl, data: [data].flat() }
}

export function ns(name: string, data: string, ttl = 300): Answer {
  return { type: 'NS', name, ttl, data }
}

export function cname(name: string, data: string, ttl = 300): Answer {
  return { type: 'CNAME', name, ttl, data }
}
