import { randomBytes } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { newId } from '../../server/db/ids.ts'
import { makeReturnPath } from '../../server/domains/return-path.ts'
import { addresseesOf } from '../../server/inbound/addressee.ts'
import { type ListenerParts, listenForBounces } from '../../server/inbound/listener.ts'
import { untilEnd } from '../harness/until-end.ts'
import { type Client, openClient } from './client.ts'

// A listener of its own for each test, and clients that have greeted it.

export const KEYS = [randomBytes(32), randomBytes(32)] as const
export const TOKEN = makeReturnPath(KEYS[0], newId(Date.now()), 0)
export const TO = `${TOKEN}@rp.example.test`

/** A listener that records what it received. */
export async function listener(more: Partial<ListenerParts> = {}) {
  const mails: Parameters<ListenerParts['receive']>[0][] = []
  const errors: Error[] = []
  const { port, close, showCertificate } = await listenForBounces({
    host: '127.0.0.1',
    port: 0,
    name: 'bounces.example.test',
    addresseeOf: addresseesOf({ returnPathKeys: KEYS, returnPathHost: 'xn--bcher-kva.example' }),
    receive: async (mail) => void mails.push(mail),
    failed: (error) => void errors.push(error as Error),
    ...more,
  })
  onTestFinished(close)
  return { port, close, showCertificate, mails, errors }
}

export async function client(port: number): Promise<Client> {
  const opened = untilEnd(await openClient(port))
  return opened
}

/** A client that has sent EHLO and, with a recipient, is ready to send DATA. */
export async function greeted(port: number, to?: string): Promise<Client> {
  const opened = await client(port)
  await opened.say()
  for (const line of ['EHLO mx.example.net', ...(to ? ['MAIL FROM:<>', `RCPT TO:<${to}>`] : [])]) {
    expect(await opened.say(line)).toMatch(/^250/)
  }
  return opened
}
