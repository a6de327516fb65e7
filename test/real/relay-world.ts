import { join } from 'node:path'
import { expect } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { eventually } from '../harness/eventually.ts'
import { type Exchanger, startExchanger } from '../harness/exchanger.ts'
import { startProxy, type TcpProxy } from '../harness/proxy.ts'
import { atEnd, untilEnd } from '../harness/until-end.ts'
import { connectClient, stuffed } from '../smtp-front/client.ts'
import { selfSigned, signedBy } from './certificates.ts'
import { openFolder } from './daemon.ts'
import { createSender, type Product, productToKill, SENDER_DOMAIN } from './product.ts'

// Mail servers that hand their mail to the service. The name of a mailbox says what becomes of it, and the test where
// an answer of the service is lost.

/** What a mail server says about a recipient at a try. */
export interface Word {
  fate: 'sent' | 'deferred' | 'bounced'
  /** The line of its log. */
  text: string
}

/** A mail server whose way out is the service. */
export interface Relay {
  /** Where programs of its machine hand in mail. */
  port: number
  /** What it has said about a recipient, in order. */
  words(recipient: string): Word[]
  log(): string
  stop(): Promise<void>
}

export const FROM = `orders@${SENDER_DOMAIN}`

/** The recipients' server greylists as real ones do: a sender and a recipient that it has not seen come again. */
export const FATES = ['delivered', 'greylisted', 'refused'] as const

/** An answer is lost before the recipients' server has answered RCPT or the dot, or before the relay reads ours. */
export const MOMENTS = ['rcpt', 'dot', 'answer'] as const
export type Moment = (typeof MOMENTS)[number]
/** By what: the connection to the relay is reset, or the API is killed and another process takes its place. */
export type Fault = 'cut' | 'kill'

export interface RelayWorld {
  key: string
  /** The authority of the certificate that the service shows, for the name `localhost`. */
  authorityFile: string
  folder: string
  /** Lead to the service. */
  smtp: TcpProxy
  lmtp: TcpProxy
  /** Where the mailboxes of the sender's domain are. */
  home: Exchanger
  get(path: string): Promise<ReturnType<Product['get']>>
  /** From now on the next answer is lost at this moment. */
  lose(moment: Moment, fault: Fault): void
  /** Whether it has been lost. */
  isLost(): boolean
  /** Sends a message to a new recipient of each fate; returns the recipients. */
  submit(relay: Relay): Promise<Record<(typeof FATES)[number], string>>
  /** The number of messages that arrived for a recipient. */
  arrived(recipient: string): number
}

/** What a relay needs of its world. */
export type RelayPlace = Pick<RelayWorld, 'key' | 'authorityFile' | 'folder' | 'smtp' | 'lmtp' | 'home'>

export async function startRelayWorld(): Promise<RelayWorld> {
  const account = await createSender()
  const folder = await openFolder('relays')
  const path = (name: string) => join(folder, name)
  selfSigned(path('authority'), 'Test authority')
  signedBy(path('authority'), path('front'), 'localhost')
  const [smtp, lmtp] = [untilEnd(await startProxy()), untilEnd(await startProxy())]
  const home = untilEnd(await startExchanger())
  let count = 0

  /** What is lost next. `isArmed`: the next octets of the service are the answer to a dot. */
  let loss: { moment: Moment; fault: Fault; isArmed: boolean } | undefined
  let repair: Promise<void> | undefined
  const strike = (moment: Moment) => {
    if (loss?.moment !== moment) return undefined
    repair = loss.fault === 'cut' ? cut() : kill()
    loss = undefined
    return repair
  }
  const seen = new Set<string>()
  /** The envelope sender of the transaction whose last command is this one. */
  const senderOf = (line: string) =>
    recipients.sessions
      .find(({ commands }) => commands.at(-1) === line)
      ?.commands.findLast((command) => command.startsWith('MAIL'))
  const recipients: Exchanger = untilEnd(
    await startExchanger({
      rcpt: (line) => {
        const [, fate = ''] = /<(\w+)\./.exec(line) ?? []
        const pair = `${senderOf(line)} ${line}`
        const isNew = !seen.has(pair)
        seen.add(pair)
        const act =
          fate === 'refused'
            ? '550 5.1.1 User unknown'
            : fate === 'greylisted' && isNew
              ? '450 4.7.1 Greylisted, come back later'
              : '250 2.1.5 ok'
        return { after: strike('rcpt') ?? Promise.resolve(), act }
      },
      dot: () => {
        if (loss?.moment === 'answer') loss.isArmed = true
        return { after: strike('dot') ?? Promise.resolve(), act: '250 2.0.0 queued' }
      },
    }),
  )
  for (const proxy of [smtp, lmtp]) {
    proxy.onMessage = ({ direction }) => {
      if (direction === 'up' || !loss?.isArmed) return undefined
      strike('answer')
      return 'drop'
    }
  }

  /** The service on its own ports. */
  async function startService() {
    const [smtpPort, lmtpPort] = [await freePort(), await freePort()]
    const product = await productToKill(account, {
      SMTP_ROUTES: `example.net=127.0.0.1:${recipients.port}`,
      SMTP_FRONT_PORT: String(smtpPort),
      SMTP_FRONT_LMTP_PORT: String(lmtpPort),
      SMTP_FRONT_CERT_FILE: path('front.pem'),
      SMTP_FRONT_KEY_FILE: path('front.key'),
      SMTP_HELO_NAME: 'localhost',
    })
    return { product, smtpPort, lmtpPort }
  }
  let service: Awaited<ReturnType<typeof startService>>
  /** Takes over when `service` is killed. */
  let next = startService()

  async function takeOver(): Promise<void> {
    service = await next
    next = startService()
    smtp.target = { host: '127.0.0.1', port: service.smtpPort }
    lmtp.target = { host: '127.0.0.1', port: service.lmtpPort }
  }
  await takeOver()
  atEnd(async () => {
    await repair
    for (const { product } of [service, await next]) await product.api.kill()
  })

  async function cut(): Promise<void> {
    smtp.reset()
    lmtp.reset()
  }

  async function kill(): Promise<void> {
    await service.product.api.kill('SIGKILL')
    // The system resets what the dead process had open.
    await cut()
    const sql = account.database.db.$client
    await sql`update open_messages set lease_until = clock_timestamp() - interval '1 second'`
    await sql`update open_recipients set lease_until = clock_timestamp() - interval '1 second'`
    await takeOver()
  }

  return {
    ...{ key: account.key, authorityFile: path('authority.pem'), folder, smtp, lmtp, home },
    get: (path) => service.product.get(path),
    lose(moment, fault) {
      loss = { moment, fault, isArmed: false }
    },
    isLost: () => loss === undefined,
    async submit(relay) {
      const run = ++count
      const [delivered, greylisted, refused] = FATES.map((fate) => `${fate}.${run}@example.net`)
      const to = { delivered: delivered!, greylisted: greylisted!, refused: refused! }
      const client = await connectClient(relay.port)
      await client.ask('EHLO client.test')
      const content = `From: Shop <${FROM}>\r\nSubject: Message ${run}\r\n\r\nHi\r\n`
      for (const line of [`MAIL FROM:<${FROM}>`, ...Object.values(to).map((one) => `RCPT TO:<${one}>`), 'DATA']) {
        expect(await client.ask(line), line).toMatch(/^[23]/)
      }
      client.write(stuffed(content))
      expect(await client.reply()).toMatch(/^250/)
      client.end()
      return to
    },
    arrived: (recipient) => recipients.messages.filter(({ to }) => to.includes(recipient)).length,
  }
}

/** The last words of a relay about the recipients of a message. */
export async function lastWords(relay: Relay, recipients: readonly string[]): Promise<Word[]> {
  return eventually(() => {
    const words = recipients.map((recipient) => relay.words(recipient).at(-1))
    for (const word of words) expect(word?.fate ?? '', relay.log().slice(-5_000)).toMatch(/sent|bounced/)
    return words as Word[]
  })
}
