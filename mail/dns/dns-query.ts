import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import { GatheredOctets } from '../../net/gathered-octets.ts'
import { createQuery, type DnsQuery, type DnsResponse, type RecordType, readResponse } from './dns-message.ts'

export interface DnsServer {
  address: string
  port: number
}

export interface DnsFailure {
  failure: string
}

/** RFC 1035 4.1.1: the RCODEs of servers from before EDNS for a query with EDNS (RFC 6891 7). */
const WITHOUT_EDNS: readonly number[] = [1, 4]
const MALFORMED: DnsFailure = { failure: 'malformed answer' }

/**
 * Asks one server one question: over UDP with room for 1,232 octets (EDNS, RFC 6891), again without EDNS when the
 * server does not know it, and over TCP when the answer was truncated. Messages that do not answer this question (id,
 * name with its case, type) are ignored, so garbage ends like silence: `timeout` after `timeoutMs` in all. `recursion`
 * asks the server to look beyond its own zones, `dnssec` whether it has validated the response.
 */
export async function queryDns(
  server: DnsServer,
  name: string,
  type: RecordType,
  timeoutMs: number,
  { recursion = true, dnssec = false }: { recursion?: boolean; dnssec?: boolean } = {},
): Promise<DnsResponse | DnsFailure> {
  const deadline = AbortSignal.timeout(timeoutMs)
  const ask = async (edns: boolean) => {
    const query = createQuery(name, type, { recursion, dnssec, edns })
    const answer = await overUdp(server, query, deadline)
    return 'rcode' in answer && answer.isTruncated ? overTcp(server, query, deadline) : answer
  }
  const answer = await ask(true)
  return 'rcode' in answer && WITHOUT_EDNS.includes(answer.rcode) ? ask(false) : answer
}

function overUdp(server: DnsServer, query: DnsQuery, deadline: AbortSignal): Promise<DnsResponse | DnsFailure> {
  return new Promise((resolve) => {
    if (deadline.aborted) return resolve({ failure: 'timeout' })
    // The socket is connected: the kernel then drops packets from elsewhere, and reports a closed port at once.
    const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4')
    const end = (result: DnsResponse | DnsFailure) => {
      deadline.removeEventListener('abort', expire)
      socket.removeAllListeners().on('error', () => {})
      socket.close()
      resolve(result)
    }
    const expire = () => end({ failure: 'timeout' })
    deadline.addEventListener('abort', expire)
    socket.on('error', (error) => end({ failure: codeOf(error) }))
    socket.on('message', (message) => {
      const response = readResponse(message, query)
      if (response) end(response === 'malformed' ? MALFORMED : response)
    })
    socket.on('connect', () => socket.send(query.bytes))
    socket.connect(server.port, server.address)
  })
}

function overTcp(server: DnsServer, query: DnsQuery, deadline: AbortSignal): Promise<DnsResponse | DnsFailure> {
  return new Promise((resolve) => {
    const gathered = new GatheredOctets()
    const socket = connect({ host: server.address, port: server.port })
    const end = (result: DnsResponse | DnsFailure) => {
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
      gathered.add(chunk)
      const received = gathered.octets
      const length = received.length < 2 ? Number.POSITIVE_INFINITY : received.readUInt16BE(0)
      if (received.length < 2 + length) return
      const response = readResponse(received.subarray(2, 2 + length), query)
      if (response === 'malformed') end(MALFORMED)
      // TCP carries answers of any length, so a truncated one is garbage.
      else end(response && !response.isTruncated ? response : { failure: 'garbage over TCP' })
    })
  })
}

/** RFC 1035 4.2.2: over TCP, two octets of length precede the message. */
function withLength(message: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return Buffer.concat([length, message])
}

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.message
}
