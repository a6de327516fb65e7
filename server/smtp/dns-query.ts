import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import { type DecodedPacket, decode, encode, RECURSION_DESIRED } from 'dns-packet'

export interface DnsServer {
  address: string
  port: number
}

export type RecordType = 'MX' | 'A' | 'AAAA' | 'TXT' | 'NS' | 'CNAME' | 'PTR'

export interface DnsFailure {
  failure: string
}

interface Query {
  id: number
  /** In random case, which a true answer repeats: a few more bits an attacker off the path has to guess. */
  name: string
  type: RecordType
  bytes: Buffer
}

/**
 * One question to one server: over UDP, over TCP when the answer was truncated. What does not answer this very question
 * (id, name with its case, type) is ignored, so garbage ends like silence: `timeout` after `timeoutMs` in all. `recursion` asks the
 * server to look further than into its own zones.
 */
export async function queryDns(
  server: DnsServer,
  name: string,
  type: RecordType,
  timeoutMs: number,
  { recursion = true }: { recursion?: boolean } = {},
): Promise<DecodedPacket | DnsFailure> {
  const query = createQuery(name, type, recursion ? RECURSION_DESIRED : 0)
  const deadline = AbortSignal.timeout(timeoutMs)
  const answer = await overUdp(server, query, deadline)
  return 'flag_tc' in answer && answer.flag_tc ? overTcp(server, query, deadline) : answer
}

function createQuery(name: string, type: RecordType, flags: number): Query {
  const random = randomBytes(2 + name.length)
  const id = random.readUInt16BE(0)
  const mixed = [...name].map((c, i) => (random[i + 2]! & 1 ? c.toUpperCase() : c.toLowerCase())).join('')
  const bytes = encode({ type: 'query', id, flags, questions: [{ type, name: mixed }] })
  return { id, name: mixed, type, bytes }
}

function overUdp(server: DnsServer, query: Query, deadline: AbortSignal): Promise<DecodedPacket | DnsFailure> {
  return new Promise((resolve) => {
    // Connected, so that the kernel drops what comes from elsewhere and a closed port is an error at once.
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4')
    const end = (result: DecodedPacket | DnsFailure) => {
      deadline.removeEventListener('abort', expire)
      socket.removeAllListeners().on('error', () => {})
      socket.close()
      resolve(result)
    }
    const expire = () => end({ failure: 'timeout' })
    deadline.addEventListener('abort', expire)
    socket.on('error', (error) => end({ failure: codeOf(error) }))
    socket.on('message', (message) => {
      const packet = answerTo(query, message)
      if (packet) end(packet)
    })
    socket.on('connect', () => socket.send(query.bytes))
    socket.connect(server.port, server.address)
  })
}

function overTcp(server: DnsServer, query: Query, deadline: AbortSignal): Promise<DecodedPacket | DnsFailure> {
  return new Promise((resolve) => {
    let received = Buffer.alloc(0)
    const socket = connect({ host: server.address, port: server.port })
    const end = (result: DecodedPacket | DnsFailure) => {
      deadline.removeEventListener('abort', expire)
      socket.removeAllListeners().on('error', () => {})
      socket.destroy()
      resolve(result)
    }
    const expire = () => end({ failure: 'timeout' })
    if (deadline.aborted) return expire()
    deadline.addEventListener('abort', expire)
    socket.on('error', (error) => end({ failure: codeOf(error) }))
    socket.on('close', () => end({ failure: 'closed' }))
    socket.on('connect', () => socket.write(withLength(query.bytes)))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      const length = received.length < 2 ? Number.POSITIVE_INFINITY : received.readUInt16BE(0)
      if (received.length < 2 + length) return
      end(answerTo(query, received.subarray(2, 2 + length)) ?? { failure: 'garbage over TCP' })
    })
  })
}

/** RFC 1035 4.2.2. */
function withLength(message: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return Buffer.concat([length, message])
}

function answerTo(query: Query, message: Buffer): DecodedPacket | undefined {
  let packet: DecodedPacket
  try {
    packet = decode(message)
  } catch {
    return undefined
  }
  const [question, ...more] = packet.questions ?? []
  const matches =
    packet.type === 'response' &&
    packet.id === query.id &&
    more.length === 0 &&
    question?.name === query.name &&
    question.type === query.type
  return matches ? packet : undefined
}

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.message
}
