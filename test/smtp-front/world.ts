import { afterAll, beforeEach } from 'vitest'
import type { OperatorLimits } from '../../server/config/limits.ts'
import { listenForSmtp, type SmtpFront } from '../../server/smtp-front/listener.ts'
import type { FrontParts } from '../../server/smtp-front/parts.ts'
import { type Api, startApi } from '../services/api.ts'
import { connectClient } from './client.ts'

/** The whole API with its listener for SMTP. */
export async function startFrontWorld(more: Partial<FrontParts> = {}, limits?: OperatorLimits) {
  const api: Api = await startApi(undefined, limits)
  const fronts: SmtpFront[] = []
  const listenWith = async (parts: Partial<FrontParts> = {}) => {
    const front = await listenForSmtp({
      ...api.smtpDoor,
      host: '127.0.0.1',
      port: 0,
      name: 'verdict.test',
      implicitTls: false,
      maxRecipients: 50,
      ...more,
      ...parts,
    })
    fronts.push(front)
    return front
  }
  const front = await listenWith()
  afterAll(async () => {
    for (const one of fronts) await one.close({ timeoutMs: 1_000 })
  })
  beforeEach(() => api.world.exchanger.reset())

  /** A client that has given the live key. */
  const loggedIn = async (key = api.keys.live, port = front.port) => {
    const client = await connectClient(port)
    await client.logIn(key)
    return client
  }
  /** One message on its own connection; returns the reply to the dot. */
  const send = async (mail: { to: string | string[]; content: string | Buffer; from?: string; key?: string }) => {
    const client = await loggedIn(mail.key)
    const answer = await client.send({ from: 'hello@example.test', ...mail, to: [mail.to].flat() })
    client.end()
    return answer
  }
  return { api, front, listenWith, loggedIn, send }
}

let count = 0

/** A message with a Message-ID of its own. */
export function letter(messageId: string | undefined = `<${++count}@example.test>`, text = 'Hi'): string {
  return [
    ...['From: Shop <hello@example.test>', 'To: ann@example.net', 'Subject: Hello'],
    ...(messageId === '' ? [] : [`Message-ID: ${messageId}`]),
    ...['', text, ''],
  ].join('\r\n')
}
