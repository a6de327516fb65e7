import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../dev/ports.ts'
import { type Exchanger, startExchanger } from '../../harness/exchanger.ts'
import { startProxy, type TcpProxy } from '../../harness/proxy.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { selfSigned, signedBy } from '../certificates.ts'
import { openFolder } from '../daemon.ts'
import { createSender, SENDER_DOMAIN, startProduct } from '../product.ts'

// The service with both ports of its front, and a mail server that does with a recipient what the address says.

export const FROM = `orders@${SENDER_DOMAIN}`

/** What the recipients' server does with an address that begins with the name. */
const FATES = ['accepted', 'refused', 'greylisted', 'slow', 'lost'] as const
export type Fate = (typeof FATES)[number]

/** The fates of a message's recipients. */
export const CASES: Record<string, Fate[]> = {
  'One recipient': ['accepted'],
  '60 recipients': Array<Fate>(60).fill('accepted'),
  Refused: ['refused'],
  'One of two refused': ['accepted', 'refused'],
  Greylisted: ['greylisted'],
  'One of two greylisted': ['accepted', 'greylisted'],
  'Slow answer': ['slow'],
  'Lost answer': ['lost'],
}

const SLOW_MS = 15_000

/** One client's message of one case. */
export interface Play {
  fates: Fate[]
  recipients: string[]
  proxies: Proxies
  /** How many copies each recipient has. */
  copies(): number[]
}

/** Lead a client to the service. */
export interface Proxies {
  smtp: TcpProxy
  lmtp: TcpProxy
}

export type ClientWorld = Awaited<ReturnType<typeof startClientWorld>>

export async function startClientWorld() {
  const account = await createSender()
  const folder = await openFolder('smtp-clients')
  const path = (name: string) => join(folder, name)
  selfSigned(path('authority'), 'Test authority')
  signedBy(path('authority'), path('front'), 'localhost')

  /** Has the mailboxes of the sender's domain. */
  const home = untilEnd(await startExchanger())
  const seen = new Set<string>()
  /** By recipient: cuts its client off, once. */
  const cuts = new Map<string, () => void>()
  const recipients: Exchanger = untilEnd(
    await startExchanger({
      rcpt: (line) => {
        const fate = fateOf(line)
        // A server that greylists compares both addresses, as postgrey does.
        const from = recipients.sessions.find(({ commands }) => commands.at(-1) === line)
        const pair = `${from?.commands.findLast((command) => command.startsWith('MAIL'))} ${line}`
        const isNew = !seen.has(pair)
        seen.add(pair)
        if (fate === 'refused') return '550 5.1.1 User unknown'
        return fate === 'greylisted' && isNew ? '451 4.7.1 Greylisted, come back later' : '250 2.1.5 ok'
      },
      dot: () => {
        const last = recipients.messages.at(-1)!.to[0]!
        if (fateOf(last) === 'slow') return { after: SLOW_MS, act: '250 2.0.0 queued' }
        cuts.get(last)?.()
        return '250 2.0.0 queued'
      },
    }),
  )
  // A young domain may send 500 emails a day.
  writeFileSync(path('limits.json'), JSON.stringify({ warmup: [] }))
  const [smtpPort, lmtpPort] = [await freePort(), await freePort()]
  await startProduct(account, {
    SMTP_ROUTES: `example.net=127.0.0.1:${recipients.port}`,
    SMTP_FRONT_PORT: String(smtpPort),
    SMTP_FRONT_LMTP_PORT: String(lmtpPort),
    SMTP_FRONT_CERT_FILE: path('front.pem'),
    SMTP_FRONT_KEY_FILE: path('front.key'),
    SMTP_HELO_NAME: 'localhost',
    TIERS_FILE: path('limits.json'),
  })
  let count = 0

  return {
    ...{ key: account.key, authorityFile: path('authority.pem'), folder, home },
    async openProxies(): Promise<Proxies> {
      const open = async (port: number) => untilEnd(await startProxy({ host: '127.0.0.1', port }))
      return { smtp: await open(smtpPort), lmtp: await open(lmtpPort) }
    },
    play(fates: Fate[], proxies: Proxies): Play {
      const run = ++count
      const addresses = fates.map((fate, i) => `${fate}.${i}-${run}@example.net`)
      if (fates[0] === 'lost') {
        cuts.set(addresses[0]!, () => {
          cuts.delete(addresses[0]!)
          for (const proxy of Object.values(proxies)) proxy.reset()
        })
      }
      const arrived = (address: string) => recipients.messages.filter(({ to }) => to.includes(address)).length
      return {
        ...{ fates, recipients: addresses, proxies },
        copies: () => addresses.map(arrived),
      }
    },
  }
}

const fateOf = (text: string) => FATES.find((fate) => text.includes(`${fate}.`))!
