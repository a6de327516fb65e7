import { once } from 'node:events'
import { connect, createServer } from 'node:net'

export interface Recorder {
  /** What the client has sent as the content of its messages, dot-stuffing undone. */
  contents(): Buffer[]
  close(): Promise<void>
}

/** Passes connections to `address` on to `target`, on the same port, and keeps every octet the client sends. */
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
    close: () => new Promise((closed) => server.close(() => closed())),
  }
}

/** RFC 5321 4.5.2. `latin1` keeps every octet as a character of its own. */
function contentsOf(conversation: string): Buffer[] {
  return [...conversation.matchAll(/\r\nDATA\r\n(.*?\r\n)\.\r\n/gs)].map(([, content]) =>
    Buffer.from(content!.replace(/^\./gm, ''), 'latin1'),
  )
}
