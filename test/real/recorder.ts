import { once } from 'node:events'
import { connect, createServer } from 'node:net'

export interface Recorder {
  /** The contents of the messages that the client sent, without dot-stuffing. */
  contents(): Buffer[]
  close(): Promise<void>
}

/**
 * Starts a proxy that passes connections from `address` to `target` on the same port, and keeps every octet of the
 * client.
 */
export async function startRecorder(address: string, target: string, port: number): Promise<Recorder> {
  const conversations: Buffer[][] = []
  const server = createServer((client) => {
    const octets: Buffer[] = []
    conversations.push(octets)
    const upstream = connect(port, target)
    client.on('data', (chunk: Buffer) => octets.push(chunk))
    client.pipe(upstream).pipe(client)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
  }).listen(port, address)
  await once(server, 'listening')
  return {
    contents: () => conversations.flatMap((octets) => contentsOf(Buffer.concat(octets).toString('latin1'))),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Finds the message contents and removes dot-stuffing (RFC 5321 4.5.2). `latin1` maps every octet to one character. */
function contentsOf(conversation: string): Buffer[] {
  return [...conversation.matchAll(/\r\nDATA\r\n(.*?\r\n)\.\r\n/gs)].map(([, content]) =>
    Buffer.from(content!.replace(/^\./gm, ''), 'latin1'),
  )
}
