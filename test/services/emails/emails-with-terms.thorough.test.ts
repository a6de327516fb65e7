import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { newId } from '../../../server/db/ids.ts'
import { messages, recipients } from '../../../server/db/schema.ts'
import { run } from '../../../server/db/statement.ts'
import { startApi } from '../api.ts'

// Lists of emails by words of the subject and pairs of the metadata.

/** More than the newest emails that a list looks at one by one. */
const FILLERS = 600
const MINUTE_MS = 60_000
const RUNS = 500

interface Stored {
  subject: string
  minutesAgo: number
  metadata?: Record<string, string>
  to?: string
  tag?: string
  account?: string
}

async function store(emails: Stored[]) {
  const { db, account } = api.world
  const rows = emails.map(({ minutesAgo, ...email }) => {
    const createdAt = new Date(now - minutesAgo * MINUTE_MS)
    return { id: newId(createdAt.getTime()), createdAt, accountId: email.account ?? account.id, ...email }
  })
  const common = { status: 'delivered', sandbox: false } as const
  await db.insert(messages).values(
    rows.map(({ id, accountId, createdAt, subject, metadata, to = 'ann@example.net', tag }) => ({
      ...{ id, accountId, createdAt, completedAt: createdAt, tag, region: 'eu', sizeBytes: 1, domain: 'example.test' },
      ...common,
      request: { from: 'hello@example.test', to: [to], subject, headers: [], attachments: [], metadata },
    })),
  )
  await db.insert(recipients).values(
    rows.map(({ id, accountId, to = 'ann@example.net' }) => ({
      ...{ messageId: id, accountId, position: 0, eventId: newId(now), email: to, status: common.status },
      ...{ retryable: false, inDoubt: false },
    })),
  )
}

const api = await startApi()
const now = Date.now()
await store([
  { subject: 'Your order #4102, shipped', minutesAgo: 1, metadata: { order: '4102' } },
  { subject: 'Ihre Bestellung 4102: ÄRGER & Söhne', minutesAgo: 2, metadata: { order: '04102', 'a.b': 'c=d' } },
  { subject: 'Заказ 4102', minutesAgo: 3, to: 'bob@example.org', tag: 'orders' },
  { subject: 'ご注文４１０３の発送', minutesAgo: 3.5 },
  { subject: '주문이 확인되었습니다', minutesAgo: 3.6 },
  { subject: 'ยืนยันคำสั่งซื้อ', minutesAgo: 3.7 },
  { subject: 'Your foreign order 4102', minutesAgo: 4, account: randomUUID(), metadata: { order: '4102' } },
])
await store(
  Array.from({ length: FILLERS }, (_, i) => ({
    subject: `Newsletter ${i}`,
    minutesAgo: 5 + i / 100,
    metadata: { campaign: 'spring' },
  })),
)
await store([
  { subject: 'Your order 4102 is late', minutesAgo: 20, metadata: { order: '4102', campaign: 'spring' } },
  { subject: 'Order 4102, again', minutesAgo: 23 * 60, to: 'cy@example.org', metadata: { order: '4102' } },
])

const list = (query: string) => api.call('GET', `/api/v1/emails?${query}`)
const subjectsOf = ({ json }: Awaited<ReturnType<typeof list>>) =>
  json.emails.map(({ subject }: { subject: string }) => subject) as string[]
const found = async (query: string) => subjectsOf(await list(query))

const SHIPPED = 'Your order #4102, shipped'
const BESTELLUNG = 'Ihre Bestellung 4102: ÄRGER & Söhne'
const ZAKAZ = 'Заказ 4102'
const LATE = 'Your order 4102 is late'
const AGAIN = 'Order 4102, again'

test.each([
  ['subject=4102', [SHIPPED, BESTELLUNG, ZAKAZ, LATE, AGAIN]],
  ['subject=ORDER 4102', [SHIPPED, LATE, AGAIN]],
  ['subject=4102, order!', [SHIPPED, LATE, AGAIN]],
  ['subject=orde', []],
  ['subject=ärger söhne', [BESTELLUNG]],
  ['subject=заказ', [ZAKAZ]],
  ['subject=order newsletter', []],
  ['subject=newsletter 599', ['Newsletter 599']],
  ['metadata.order=4102', [SHIPPED, LATE, AGAIN]],
  ['metadata[order]=4102', [SHIPPED, LATE, AGAIN]],
  ['metadata%5Border%5D=04102', [BESTELLUNG]],
  ['metadata.a.b=c=d', [BESTELLUNG]],
  ['metadata.a=b=c=d', []],
  ['metadata.Order=4102', []],
  ['metadata.order=4102&metadata.campaign=spring', [LATE]],
  ['metadata.order=4102&subject=late', [LATE]],
  ['subject=order%3D4102', [SHIPPED, LATE, AGAIN]],
  ['subject=注文', ['ご注文４１０３の発送']],
  ['subject=文', ['ご注文４１０３の発送']],
  ['subject=発送 4103', ['ご注文４１０３の発送']],
  ['subject=送発', []],
  ['subject=주문', ['주문이 확인되었습니다']],
  ['subject=คำสั่ง', ['ยืนยันคำสั่งซื้อ']],
  ['subject=½', []],
  // PostgreSQL does not count this letter as one. The search has no term, and finds nothing.
  ['subject=𐵐', []],
  ['subject=4102&tag=orders', [ZAKAZ]],
  ['subject=4102&status=bounced', []],
  ['subject=4102&recipient=CY@example.org', [AGAIN]],
  ['subject=4102&recipient_domain=example.org', [ZAKAZ, AGAIN]],
  ['metadata.order=4102&recipient_domain=example.org&recipient=cy@example.org', [AGAIN]],
])('filter %s', async (query, subjects) => {
  expect(await found(query)).toEqual(subjects)
})

/** A few characters of each script without spaces between words, and of Korean; the last are two UTF-16 units. */
const UNSPACED = '注文確認発送 ごのアッセー々 订单已发货 주문이확인 คำสั่งซื้อ ລາຍການ បញ្ជា မှာယူ 𠮷𠀋𪚥'.split(' ')
const unspaced = fc
  .constantFrom(...UNSPACED)
  .chain((script) => fc.array(fc.constantFrom(...script), { minLength: 1, maxLength: 12 }))
const around = fc.constantFrom('', ' ', 'Your order ', ' 4102', 'ABC', '、', ': ')

test('every part of a text without spaces finds it, and no part with a pair that it does not have does', async () => {
  const draw = fc.tuple(unspaced, around, around, fc.nat(), fc.nat(), unspaced)
  const texts = fc.sample(draw, RUNS).map(([letters, before, after, from, length, other]) => {
    const text = letters.join('').normalize('NFKC')
    const characters = [...text]
    const start = from % characters.length
    const part = characters.slice(start, start + 1 + (length % characters.length)).join('')
    return { subject: before + text + after, part, other: other.join('').normalize('NFKC') }
  })
  const { db, account } = api.world
  const rows = await run<{ subject: string; part: string; other: string; finds: boolean; finds_other: boolean }>(
    db,
    `select t.*, message_terms($1::uuid, json_build_object('subject', subject))
         @> message_terms($1::uuid, json_build_object('subject', part)) as finds,
       message_terms($1::uuid, json_build_object('subject', subject))
         @> message_terms($1::uuid, json_build_object('subject', other)) as finds_other
     from json_to_recordset($2::text::json) as t(subject text, part text, other text)`,
    [account.id, JSON.stringify(texts)],
  )
  expect(rows.filter(({ finds }) => !finds)).toEqual([])
  const pairs = (text: string) => [...text].flatMap((one, i, all) => (i === 0 ? [one] : [one, all[i - 1] + one]))
  for (const { subject, other, finds_other } of rows)
    expect({ subject, other, found: finds_other }).toEqual({
      ...{ subject, other },
      found: pairs(other).every((pair) => subject.includes(pair)),
    })
})

test.each(['subject=newsletter', 'metadata.campaign=spring', 'subject=4102'])(
  'pages return every email with %s once, the newest first',
  async (filter) => {
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const page = await list(`${filter}&limit=70${cursor && `&cursor=${cursor}`}`)
      seen.push(...subjectsOf(page))
      if (!page.json.has_more) break
      cursor = page.json.next_cursor
    }
    const fillers = Array.from({ length: FILLERS }, (_, i) => `Newsletter ${i}`)
    const all = {
      'subject=newsletter': fillers,
      'metadata.campaign=spring': [...fillers, LATE],
      'subject=4102': [SHIPPED, BESTELLUNG, ZAKAZ, LATE, AGAIN],
    }[filter]
    expect(seen).toEqual(all)
  },
)

test('times limit the search', async () => {
  const at = (minutesAgo: number) => new Date(now - minutesAgo * MINUTE_MS).toISOString()
  expect(await found(`subject=4102&from=${at(21)}&to=${at(2)}`)).toEqual([ZAKAZ, LATE])
})

test('gRPC finds as REST does', async () => {
  const client = api.grpc(EmailService)
  const { emails } = await client.listEmails({ subject: 'late', metadata: { order: '4102' } })
  expect(emails.map(({ subject }) => subject)).toEqual([LATE])
})

test('a request that PostgreSQL cannot read is stored, without terms', async () => {
  const { db, account } = api.world
  const [row] = await run<{ terms: string }>(db, `select message_terms($1::uuid, $2::text::json) as terms`, [
    account.id,
    '{"subject":"a","html":"\\u0000"}',
  ])
  expect(row).toEqual({ terms: '{}' })
})

test('an email that is sent is found by its subject and its metadata', async () => {
  await api.send({ subject: 'A sent invoice', metadata: { invoice: '77' } })
  expect(await found('subject=invoice')).toEqual(['A sent invoice'])
  expect(await found('metadata.invoice=77')).toEqual(['A sent invoice'])
})
