import { type Exchanger, startExchanger } from '../../harness/exchanger.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import type { Script } from '../../harness/smtp-script.ts'
import type { Installation } from './installation.ts'

// What the screenshots show: real sends to a mail server on this machine, whose mailboxes have their own outcomes.

const CUSTOMERS = 'customers.example.com'
const MESSAGES = 300
const HOURS = 23

const REFUSED: [mailbox: string, reply: string][] = [
  ['full', '452 4.2.2 <eva.full@customers.example.com>: mailbox is full: quota exceeded (1024 of 1024 MB)'],
  ['moved', '550 5.1.1 <tom.moved@customers.example.com>: recipient address rejected: user unknown'],
  ['strict', '554 5.7.1 <kim.strict@customers.example.com>: sender is not on the list of allowed senders'],
]

const SCRIPT: Script = {
  rcpt: (line, times) => {
    const refusal = REFUSED.find(([mailbox]) => line.includes(`.${mailbox}@`))
    return { after: 20 + ((times * 37) % 160), act: refusal?.[1] ?? '250 2.1.5 ok' }
  },
}

export interface Sample extends AsyncDisposable {
  /** What `npm start` needs to reach the mail server. */
  env: NodeJS.ProcessEnv
  /** Fills the account. Returns the id of a message whose mailbox is full. */
  fill(installation: Installation): Promise<string>
}

export async function startSample(): Promise<Sample> {
  const [exchanger, receiver] = await Promise.all([startExchanger(SCRIPT), startReceiver()])
  return {
    env: { SMTP_ROUTES: `${CUSTOMERS}=127.0.0.1:${exchanger.port}`, SMTP_ALLOW_SUBNETS: '127.0.0.0/8' },
    fill: (installation) => fill(installation, receiver),
    [Symbol.asyncDispose]: () => close(exchanger, receiver),
  }
}

const close = async (exchanger: Exchanger, receiver: Receiver) =>
  void (await Promise.all([exchanger.close(), receiver.close()]))

async function fill(installation: Installation, receiver: Receiver): Promise<string> {
  const { ready, sql, send } = installation
  const headers = { authorization: `Bearer ${ready.keys.live}`, 'content-type': 'application/json' }
  await fetch(`${ready.url}/api/v1/webhook`, {
    method: 'PUT',
    headers,
    body: JSON.stringify({ url: receiver.url, events: ['email.delivery', 'email.feedback'] }),
  })
  for (let first = 0; first < MESSAGES; first += 100) {
    const emails = Array.from({ length: 100 }, (_, i) => emailOf(first + i))
    await fetch(`${ready.url}/api/v1/emails/batch`, { method: 'POST', headers, body: JSON.stringify({ emails }) })
  }
  for (const to of ['delivered', 'mailbox_full', 'spam_blocked']) await send({ to: `${to}@simulator.test` })
  // The statistics of the hours before are copies of this hour's: a day of sending in a minute.
  const columns = await sql<{ name: string; isCount: boolean }[]>`
    select column_name as name, data_type in ('integer', 'bigint') as "isCount"
    from information_schema.columns where table_name = 'hourly_stats' and column_name <> 'hour'`
  const values = columns.map(({ name, isCount }) => (isCount ? `round(${name} * share)` : name))
  await sql.unsafe(`
    insert into hourly_stats (hour, ${columns.map(({ name }) => name)})
    select hour - ago * interval '1 hour', ${values}
    from hourly_stats, generate_series(1, ${HOURS}) as ago,
      lateral (select 0.7 + 0.5 * sin(ago / 3.6) + 0.2 * sin(ago * 2.4) as share) as shares`)
  receiver.script = { status: 503, body: 'The database of the shop is being upgraded.' }
  return send({ to: `eva.full@${CUSTOMERS}`, subject: 'Your order 1313 has shipped' })
}

const NAMES = ['ann.lee', 'bob.ruiz', 'cem.aydin', 'dana.cole', 'finn.berg', 'gia.rossi', 'hugo.silva', 'ines.novak']
const SUBJECTS = ['Your order %d has shipped', 'Receipt for order %d', 'Your sign-in code', 'Order %d is confirmed']

function emailOf(number: number) {
  const refused = number % 20 === 7 ? REFUSED[Math.floor(number / 20) % REFUSED.length]![0] : undefined
  const name = refused ? `max${number}.${refused}` : NAMES[number % NAMES.length]
  return {
    from: 'Shop <hello@example.test>',
    to: `${name}@${CUSTOMERS}`,
    subject: SUBJECTS[number % SUBJECTS.length]!.replace('%d', String(1000 + number)),
    text: 'Thank you for your order.',
    tag: number % 4 === 2 ? 'sign-in' : 'order',
  }
}
