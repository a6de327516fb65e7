import { parsePublicId } from '../../server/db/ids.ts'
import { addresseesOf } from '../../server/inbound/addressee.ts'
import { createFeedback } from '../../server/inbound/feedback.ts'
import { type ListenerParts, listenForBounces } from '../../server/inbound/listener.ts'
import { createReceiver, type ReceivedMail } from '../../server/inbound/receive.ts'
import { untilEnd } from '../harness/until-end.ts'
import { message, startSendingWorld } from '../sending/world.ts'
import { deliver } from './client.ts'

export type InboundWorld = Awaited<ReturnType<typeof startInboundWorld>>

/** A world of sends with a listener for bounces. */
export async function startInboundWorld(
  more: Partial<ListenerParts> = {},
  zone?: Parameters<typeof startSendingWorld>[0],
) {
  const world = await startSendingWorld(zone)
  const { db, clock, sealer, account, exchanger } = world
  const returnPathKeys = sealer.deriveKeys('return-path')
  const received: ReceivedMail[] = []
  const errors: unknown[] = []
  const receive = createReceiver({
    returnPathKeys,
    keep: createFeedback({ db, clock }),
    report: (each) => void received.push(each),
  })
  const listener = untilEnd(
    await listenForBounces({
      host: '127.0.0.1',
      port: 0,
      name: 'bounces.example.test',
      addresseeOf: addresseesOf({ returnPathKeys, returnPathHost: 'bounces.example.test' }),
      receive,
      failed: (error) => void errors.push(error),
      ...more,
    }),
  )
  const send = world.sendAlone()

  /** Sends a message, and returns its UUID and the address for its bounces. */
  async function sendMessage(change: Parameters<typeof message>[0] = {}, sandbox = false) {
    const { messageId } = await send(message(change), {
      accountId: account.id,
      sandbox,
      signal: new AbortController().signal,
    })
    return { id: parsePublicId('msg', messageId)!, messageId, returnPath: exchanger.messages.at(-1)?.from ?? '' }
  }

  return {
    ...world,
    port: listener.port,
    listener,
    received,
    errors,
    receive,
    returnPathKeys,
    sendMessage,
    /** The reply to a mail to this address. */
    bounce: (to: string, mail: string, from?: string) => deliver(listener.port, to, mail, from),
  }
}
