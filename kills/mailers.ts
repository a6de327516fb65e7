import { type Dice, diceFor } from '../test/faults/seed.ts'
import { pauseFor } from '../test/harness/waits.ts'
import { connectClient, stuffed } from '../test/smtp-front/client.ts'
import { DOMAINS } from './callers.ts'

// Programs that hand in mail over SMTP, and mail servers that do so over LMTP. Each repeats its mail, with the same
// Message-ID or, over SMTP, Idempotency-Key, until every recipient has a final reply.

const MAILERS = 10
const PAUSE_MS = 2_000
const RETRY_MS = 500
const FINAL = /^[25]/

type Door = 'smtp' | 'lmtp'
const DOORS: readonly Door[] = ['smtp', 'lmtp']
/** The ports of a process. */
export type Doors = Record<Door, number>

/** A mail, and the final replies that its recipients have had. */
export interface Mailing {
  request: string
  door: Door
  to: string[]
  replies: Record<string, string>
}

export function startMailers(anyDoors: () => Doors, key: string) {
  let isRunning = true
  let count = 0
  const mailings: Mailing[] = []

  async function mail(number: number): Promise<void> {
    const dice = diceFor(`mailer ${number}`)
    while (isRunning) {
      const mailing = mailingOf(dice, `m-${++count}`)
      mailings.push(mailing)
      // A mail server passes on what others wrote, so over LMTP a key is not read.
      const hasKey = mailing.door === 'smtp' && dice.chance(0.5)
      const content = contentOf(mailing, hasKey ? 'Idempotency-Key' : 'Message-ID')
      while (openOf(mailing).length > 0) {
        await handIn(mailing, content)
        await pauseFor(openOf(mailing).length > 0 ? RETRY_MS : dice.between(0, PAUSE_MS))
      }
    }
  }

  /** Over SMTP all have one reply; over LMTP each has its own, and those without a final one are tried again. */
  async function handIn({ door, to, replies }: Mailing, content: string): Promise<void> {
    const due = door === 'lmtp' ? to.filter((email) => !(email in replies)) : to
    const client = await connectClient(anyDoors()[door])
    try {
      await (door === 'lmtp' ? client.logInToLmtp(key) : client.logIn(key))
      for (const line of ['MAIL FROM:<hello@example.test>', ...due.map((one) => `RCPT TO:<${one}>`), 'DATA']) {
        if (!/^[23]/.test(await client.ask(line))) return
      }
      client.write(stuffed(content))
      let reply = ''
      for (const [i, email] of due.entries()) {
        if (i === 0 || door === 'lmtp') reply = await client.reply()
        if (FINAL.test(reply)) replies[email] = reply
      }
    } finally {
      client.destroy()
    }
  }

  const ended = Promise.all(Array.from({ length: MAILERS }, (_, number) => mail(number)))
  return {
    mailings,
    /** Begins no more mails, and resolves when all have their final replies. */
    stop(): Promise<unknown> {
      isRunning = false
      return ended
    },
  }
}

/** The recipients without a final reply. */
export const openOf = ({ to, replies }: Mailing): string[] => to.filter((email) => !(email in replies))

/** No address gets two mails. */
function mailingOf(dice: Dice, request: string): Mailing {
  const to = Array.from({ length: dice.chance(0.5) ? 1 : dice.between(2, 4) }, (_, i) => {
    return `r${i}.${request}@${dice.pick(DOMAINS)}`
  })
  return { request, door: dice.pick(DOORS), to, replies: {} }
}

function contentOf({ request, to }: Mailing, field: 'Message-ID' | 'Idempotency-Key'): string {
  const key = field === 'Message-ID' ? `<${request}@client.test>` : request
  const header = ['From: hello@example.test', `To: ${to.join(', ')}`, `Subject: ${request}`, `${field}: ${key}`]
  return [...header, '', 'All is well.', ''].join('\r\n')
}
