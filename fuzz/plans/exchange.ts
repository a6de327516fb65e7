import { connect } from 'node:net'
import { inTime } from '../../server/async/timeout.ts'

export interface Response {
  status: number
  /** Lines of the header, without those that differ for equal requests. */
  header: string[]
  body: string
}

/** The service ends every connection of these inputs much sooner. */
const HANGS_AFTER_MS = 15_000

/**
 * Writes pieces on a new connection, one in each turn of the event loop. Returns the responses up to the one that ends
 * the connection. Throws when the connection does not end.
 */
export async function exchange(port: number, pieces: readonly Buffer[]): Promise<Response[]> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const ended = Promise.withResolvers<void>()
  let isEnded = false
  let text = ''
  const end = () => {
    isEnded = true
    ended.resolve()
  }
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    if (responsesIn(text).some(({ header }) => header.includes('connection: close'))) end()
  })
  socket.on('error', end)
  socket.on('close', end)
  for (const piece of pieces) {
    if (isEnded) break
    socket.write(piece)
    await new Promise(setImmediate)
  }
  await inTime(ended.promise, HANGS_AFTER_MS, () => new Error(`The connection hangs after ${JSON.stringify(text)}`))
  socket.destroy()
  return responsesIn(text)
}

/** Complete responses in the text. Interim ones, such as 100, are left out. */
function responsesIn(text: string): Response[] {
  const responses: Response[] = []
  for (let at = 0; ; ) {
    const headEnd = text.indexOf('\r\n\r\n', at)
    if (headEnd < 0) return responses
    const [start = '', ...lines] = text.slice(at, headEnd).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(start)?.[1])
    const header = lines.map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase()))
    const rest = text.slice(headEnd + 4)
    const length = Number(header.find((line) => line.startsWith('content-length: '))?.slice(16) ?? 0)
    const { body, octets } = header.includes('transfer-encoding: chunked')
      ? joinedChunks(rest)
      : { body: rest.slice(0, length), octets: length }
    if (octets > rest.length) return responses
    at = headEnd + 4 + octets
    if (status < 200) continue
    responses.push({ status, header: header.filter((line) => !OWN.test(line)).map(withoutIds), body: withoutIds(body) })
  }
}

/** The content of chunks, and the octets that they take; infinitely many when the last one is missing. */
function joinedChunks(text: string): { body: string; octets: number } {
  let body = ''
  for (let at = 0; ; ) {
    const lineEnd = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    if (lineEnd < 0 || lineEnd + size + 4 > text.length) return { body, octets: Infinity }
    body += text.slice(lineEnd + 2, lineEnd + 2 + size)
    at = lineEnd + size + 4
    if (size === 0) return { body, octets: at }
  }
}

const OWN = /^date: /
/** The ids that the service gives to requests without one. */
const withoutIds = (text: string) => text.replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id')
