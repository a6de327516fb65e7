import { once } from 'node:events'
import type { Server } from 'node:net'
import { createDial } from '../../../net/dial.ts'
import { createUrlGuard } from '../../../net/url.ts'
import { Connections } from '../../../server/webhooks/post/connections.ts'
import { createPost, type Post } from '../../../server/webhooks/post/post.ts'
import { RECEIVER_AUTHORITY } from '../../harness/certificates.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'

export const BODY = Buffer.from('{"event":"email.delivery","status":"bounced"}')
/** What a test has to undo at its end. */
export const ends: (() => unknown)[] = []

export async function undo(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end()
}

export async function newReceiver(options?: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  const receiver = await startReceiver(options)
  ends.push(receiver.close)
  return receiver
}

type Options = Partial<Parameters<typeof createPost>[0]>

/** Creates a function that makes POSTs of one account. They always get a slot. */
export function newAccountPost(options: Options = {}) {
  const post = newPost(options)
  return async (url: string, signal?: AbortSignal, headers = {}) =>
    (await post(url, headers, BODY, { accountId: 'account', signal }))!
}

/** Creates a `Post` for which every name leads to 127.0.0.1, the only address allowed. */
export function newPost(options: Options = {}): Post {
  const lookup = async () => ['127.0.0.1']
  const { post, close } = createPost({ allowSubnets: ['127.0.0.1/32'], lookup, ca: RECEIVER_AUTHORITY, ...options })
  ends.push(close)
  return post
}

/** Creates `Connections` whose names lead to 127.0.0.1, and a function that opens one to a URL. */
export function newConnections() {
  const connections = new Connections(createDial({ lookup: async () => ['127.0.0.1'] }))
  const { destinationOf } = createUrlGuard({ allowSubnets: ['127.0.0.1/32'] })
  ends.push(() => connections.close())
  const open = async (url: string) => {
    const opened = await connections.open(destinationOf(url)!, new AbortController().signal)
    if (opened.kind !== 'connected') throw new Error(opened.kind)
    return opened.connection
  }
  return { connections, open }
}

export async function startListening(server: Server, port = 0, host = '127.0.0.1'): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening')
  ends.push(() => new Promise((resolve) => server.close(resolve)))
}
