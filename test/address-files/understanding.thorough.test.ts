import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Choices, readAddressList } from '../../address-files/address-list.ts'
import { AddressFileFault } from '../../address-files/table.ts'
import { words } from '../harness/text.ts'

// The law: the addresses of a file are those of its recipients whose mail did not arrive, or the file is refused.

const bytesOf = (text: string) => new TextEncoder().encode(text)
const emailsIn = (text: string, choices?: Choices) =>
  readAddressList(bytesOf(text), choices).addresses.map(({ email }) => email)
const faultOf = (text: string, choices?: Choices) => {
  try {
    return `read: ${emailsIn(text, choices)}`
  } catch (error) {
    if (!(error instanceof AddressFileFault)) throw error
    return error.message
  }
}

/** By language: the headings of recipients, of senders, of states, and values of states of death and of life. */
const LANGUAGES = [
  {
    recipients: [
      'To',
      'Recipient',
      'Recipient email',
      'rcpt_to',
      'deliveredTo',
      'Envelope-To',
      'Email',
      'email_address',
    ],
    senders: [
      'From',
      'Sender',
      'Sender email',
      'From Address',
      'fromEmail',
      'Return-Path',
      'Reply-To',
      'Envelope Sender',
    ],
    states: ['Status', 'Event', 'State', 'type'],
    dead: ['Bounced', 'hard_bounce', 'HardBounce', 'Dropped', 'Invalid', 'not delivered', 'spamreport'],
    alive: [
      'Delivered',
      'valid',
      'Soft Bounce',
      'softBounce',
      'ACTIVE',
      'Opened',
      'clicked',
      'deferred',
      'Temporary fail',
    ],
  },
  {
    recipients: ['Empfänger', 'Empfänger-Adresse', 'An', 'E-Mail', 'E-Mail-Adresse'],
    senders: ['Absender', 'Von', 'Absenderadresse Absender', 'Antwort an'],
    states: ['Zustand', 'Status'],
    dead: ['Zurückgewiesen', 'nicht zugestellt', 'Ungültig'],
    alive: ['Zugestellt', 'Gesendet', 'Aktiv', 'Vorübergehend unzustellbar'],
  },
  {
    recipients: ['Destinataire', 'Adresse du destinataire', 'Courriel'],
    senders: ['Expéditeur', "Adresse de l'expéditeur", 'Répondre à'],
    states: ['Statut', 'État'],
    dead: ['Rejeté', 'non valide', 'Bloqué'],
    alive: ['Délivré', 'Envoyé', 'Ouvert', 'Temporaire'],
  },
  {
    recipients: ['Destinatario', 'Correo electrónico', 'Para'],
    senders: ['Remitente', 'Remitente (email)', 'Responder a'],
    states: ['Estado'],
    dead: ['Rebotado', 'no entregado', 'Inexistente'],
    alive: ['Entregado', 'Enviado', 'Abierto', 'Activo'],
  },
  {
    recipients: ['Destinatario', 'Indirizzo', 'Indirizzo email'],
    senders: ['Mittente', 'Email mittente', 'Da'],
    states: ['Stato'],
    dead: ['Respinto', 'non valido'],
    alive: ['Consegnato', 'Inviato', 'Attivo', 'Temporaneo'],
  },
  {
    recipients: ['Destinatário', 'Endereço', 'Para'],
    senders: ['Remetente', 'E-mail do remetente'],
    states: ['Situação'],
    dead: ['Devolvido', 'não entregue'],
    alive: ['Entregue', 'Enviado', 'Ativo', 'Temporário'],
  },
  {
    recipients: ['Ontvanger', 'E-mailadres', 'Aan'],
    senders: ['Afzender', 'E-mail afzender', 'Van'],
    states: ['Toestand'],
    dead: ['Geweigerd', 'niet afgeleverd'],
    alive: ['Afgeleverd', 'Verzonden', 'Actief', 'Tijdelijk'],
  },
]

interface Column {
  heading: string
  cells: string[]
}
interface Shape {
  columns: Column[]
  separator: string
  quotesAll: boolean
  lineEnd: string
  before: string
}

function written({ columns, separator, quotesAll, lineEnd, before }: Shape, hasHeadings = true): string {
  const cell = (text: string) => (quotesAll || /[",;\t\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  const rows = columns[0]!.cells.map((_, i) => columns.map(({ cells }) => cells[i]!))
  const lines = [...(hasHeadings ? [columns.map(({ heading }) => heading)] : []), ...rows]
  const title = before === 'sep' ? [`sep=${separator}`] : before === 'title' ? ['Report of November', ''] : []
  return [...title, ...lines.map((line) => line.map(cell).join(separator)), ''].join(lineEnd)
}

const RECIPIENTS = words(`
  ann@a.test bob@b.example o'neil+x@c.example émile@d.example eve@e.example fay@f.test
`)

const shape = fc
  .record({
    language: fc.constantFrom(...LANGUAGES),
    picks: fc.array(fc.nat(1_000), { minLength: 12, maxLength: 12 }),
    hasSender: fc.boolean(),
    isMixed: fc.boolean(),
    order: fc.array(fc.nat(1_000), { minLength: 8, maxLength: 8 }),
    separator: fc.constantFrom(',', ';', '\t'),
    quotesAll: fc.boolean(),
    lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
    before: fc.constantFrom('', 'sep', 'title'),
  })
  .map(({ language, picks, hasSender, isMixed, order, ...format }) => {
    const pick = (list: readonly string[], i: number) => list[picks[i]! % list.length]!
    const recipients = { heading: pick(language.recipients, 0), cells: RECIPIENTS }
    const alive = RECIPIENTS.map((_, i) => isMixed && i % 2 === 0)
    const dead = pick(language.dead, 1)
    const states = {
      heading: pick(language.states, 2),
      cells: alive.map((lives) => (lives ? pick(language.alive, 3) : dead)),
    }
    const others = [
      ...(hasSender ? [{ heading: pick(language.senders, 4), cells: RECIPIENTS.map(() => 'shop@shop.example') }] : []),
      { heading: 'Message-ID', cells: RECIPIENTS.map((_, i) => `<${i}@mta.example>`) },
      { heading: 'id', cells: RECIPIENTS.map((_, i) => `${i}@ids.example`) },
      { heading: 'Subject', cells: RECIPIENTS.map(() => 'Your order was sent, delivered') },
      { heading: 'Reason', cells: RECIPIENTS.map((_, i) => `550 5.1.1 <x${i}@y.example>: "no" such user`) },
    ]
    const columns = [recipients, states, ...others]
      .map((column, i) => ({ column, at: order[i]! }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ column }) => column)
    const wanted = RECIPIENTS.filter((_, i) => !alive[i])
    return { ...format, columns, recipients, states, dead, isMixed, wanted }
  })

test('the recipients whose mail did not arrive are read, in any shape, order and language', () => {
  fc.assert(
    fc.property(shape, ({ states, dead, isMixed, wanted, ...shape }) => {
      const text = written(shape)
      if (isMixed) {
        expect(faultOf(text)).toMatch('Some rows may be of mailboxes that take mail.')
        expect(emailsIn(text, { all: true })).toEqual(RECIPIENTS)
      } else expect(emailsIn(text)).toEqual(RECIPIENTS)
      expect(emailsIn(text, { where: [{ column: states.heading, values: [dead.toUpperCase()] }] })).toEqual(wanted)
    }),
    { numRuns: 500 },
  )
})

/** Columns that divide the rows, in words that no table has: the first value is one of life, the second of death. */
const DIVIDED = fc.oneof(
  fc.record({
    heading: fc.constantFrom('bounced', 'unsubscribed', 'blorple', 'is_suppressed', 'gesperrt'),
    values: fc.constantFrom(['false', 'true'], ['0', '1'], ['no', 'yes'], ['N', 'Y'], ['nein', 'ja'], ['', 'x']),
  }),
  fc.record({
    heading: fc.constantFrom('code', 'smtp_code', 'blorple', 'status'),
    values: fc.constantFrom(['250', '550'], ['421', '550'], ['4.2.2', '5.1.1'], ['2.0.0', '5.1.1']),
  }),
  fc.record({
    heading: fc.constantFrom('blorple', 'category', 'list'),
    values: fc.constantFrom(['subscribed', 'unsubscribed'], ['deferral', 'hard'], ['zibble', 'bounced'], ['', 'spam']),
  }),
  // Some entries have an end.
  fc.record({
    heading: fc.constantFrom('expires_at', 'removed', 'Ended at', 'valid until'),
    values: fc.constantFrom(['', '2026-11-30'], ['', '2026-11-30T12:00:00Z'], ['', '30.11.2026 12:00']),
  }),
  fc.record({
    heading: fc.constantFrom('Status', 'event', 'verdict', 'last_result', 'Zustand', 'statut', 'Estado', '状態'),
    values: fc.constantFrom(['zibble', 'quorble'], ['Subscribed', 'Cleaned'], ['OK', 'KO'], ['配信済み', 'エラー']),
  }),
)

/**
 * A column with its first value in the rows up to `firstDead` and its second in the others needs a choice, and one with
 * the second alone does not. Returns the columns of the first.
 */
function expectChoice(
  { heading, values }: { heading: string; values: readonly string[] },
  { recipients, ...shape }: Omit<Shape, 'columns'> & { recipients: Column },
  firstDead: number,
): Column[] {
  const cells = RECIPIENTS.map((_, i) => values[i > firstDead ? 1 : 0]!)
  const columns = [recipients, { heading, cells }]
  expect(faultOf(written({ ...shape, columns }))).toMatch('Some rows may be of mailboxes that take mail.')
  expect(emailsIn(written({ ...shape, columns }), { all: true })).toEqual(RECIPIENTS)
  const same = [recipients, { heading, cells: RECIPIENTS.map(() => values[1]!) }]
  expect(emailsIn(written({ ...shape, columns: same }))).toEqual(RECIPIENTS)
  return columns
}

test('rows that a column divides are not read without a choice, in whatever words', () => {
  fc.assert(
    fc.property(DIVIDED, shape, fc.nat(4), (divided, { states: _, recipients, ...shape }, firstDead) => {
      expectChoice(divided, { ...shape, recipients }, firstDead)
    }),
    { numRuns: 500 },
  )
})

/** What some rows have and others lack: the first value is that of a subscriber. */
const LACKED = fc.oneof(
  fc.record({
    heading: fc.constantFrom('unsubscribed_at', 'Bounced', 'blorple', 'gesperrt am', '退会日'),
    values: fc
      .tuple(
        fc.constantFrom('', 'NULL', '-', '0000-00-00 00:00:00'),
        fc.constantFrom('2026-11-30 10:31', '30.11.2026', '1735689600', '1735689600000'),
      )
      .map((values) => values as string[]),
  }),
  fc.record({ heading: fc.constantFrom('hard_bounces', 'blorple'), values: fc.constantFrom(['0', '3'], ['0', '12']) }),
  fc.record({
    heading: fc.constantFrom('bounce_reason', 'Last error', 'Fehler', 'motivo'),
    values: fc.constantFrom(['', 'user unknown'], ['', '550 5.1.1 no such user']),
  }),
)

test('what only some rows have divides them, unless the file says of all why', () => {
  fc.assert(
    fc.property(LACKED, shape, fc.nat(4), (lacked, { states: _, recipients, ...shape }, firstDead) => {
      const columns = expectChoice(lacked, { ...shape, recipients }, firstDead)
      for (const [heading, cell] of [
        ['Type', 'HardBounce'],
        ['Grund', 'unbekannt'],
        ['code', '550'],
      ] as const) {
        const why = { heading, cells: RECIPIENTS.map(() => cell) }
        expect(emailsIn(written({ ...shape, columns: [...columns, why] }))).toEqual(RECIPIENTS)
      }
    }),
    { numRuns: 300 },
  )
})

test('a state counts whatever is behind it in its cell', () => {
  const recipients = { heading: 'Recipient', cells: Array.from({ length: 60 }, (_, i) => `ann${i}@a.test`) }
  const divided = fc.oneof(
    fc.constantFrom(...LANGUAGES).chain(({ states, alive, dead }) =>
      fc.record({
        heading: fc.constantFrom(...states),
        alive: fc.constantFrom(...alive),
        dead: fc.constantFrom(...dead.filter((value) => !value.includes(' '))),
      }),
    ),
    fc.record({
      heading: fc.constantFrom('response', 'SMTP reply', 'blorple'),
      alive: fc.constantFrom('250', '451'),
      dead: fc.constant('550'),
    }),
  )
  const detail = fc.constantFrom(
    (i: number) => ` 10:31:${i}`,
    (i: number) => ` (mx${i}.a.test)`,
    (i: number) => ` 2.0.0 id=${i}`,
    (i: number) => ` - ${i} of 60`,
  )
  fc.assert(
    fc.property(divided, detail, fc.integer({ min: 1, max: 59 }), ({ heading, alive, dead }, detail, firstDead) => {
      const cells = recipients.cells.map((_, i) => `${i < firstDead ? alive : dead}${detail(i)}`)
      const text = written({
        ...{ separator: ',', quotesAll: false, lineEnd: '\n', before: '' },
        columns: [recipients, { heading, cells }],
      })
      expect(faultOf(text)).toMatch('Some rows may be of mailboxes that take mail.')
      const [beginning = ''] = /^\d+|^\p{L}+/u.exec(dead) ?? []
      expect(emailsIn(text, { where: [{ column: heading, values: [beginning] }] })).toEqual(
        recipients.cells.slice(firstDead),
      )
    }),
    { numRuns: 300 },
  )
})

test('a time of life that only some rows have divides them', () => {
  const text = 'email,delivered_at\na@one.example,2026-11-30 10:31\nb@two.example,\n'
  expect(faultOf(text)).toMatch('"delivered_at": a date 1, (empty) 1')
  expect(emailsIn(text, { where: [{ column: 'delivered_at', values: [''] }] })).toEqual(['b@two.example'])
  expect(emailsIn('email,sent_at\na@one.example,2026-11-30\nb@two.example,2026-11-30\n')).toHaveLength(2)
})

test('without headings the column of most different addresses is read, and two that are alike are refused', () => {
  fc.assert(
    fc.property(shape, ({ recipients, states, ...shape }) => {
      const senders = { heading: '', cells: RECIPIENTS.map(() => 'shop@shop.example') }
      const dates = { heading: '', cells: RECIPIENTS.map((_, i) => `2026-11-0${i + 1}`) }
      const columns = shape.columns[0] === recipients ? [recipients, dates, senders] : [senders, dates, recipients]
      expect(emailsIn(written({ ...shape, columns }, false))).toEqual(RECIPIENTS)
      const copies = { heading: '', cells: RECIPIENTS.map((address) => `copy-${address}`) }
      expect(faultOf(written({ ...shape, columns: [recipients, dates, copies] }, false))).toMatch('Several columns')
    }),
    { numRuns: 200 },
  )
})

test('a list is read whole, however its addresses are parted, or refused where it looks like a table', () => {
  const parted = fc.array(fc.constantFrom(', ', ';', ' ', ' ; ', ' | ', ','), { minLength: 5, maxLength: 5 })
  fc.assert(
    fc.property(parted, fc.boolean(), fc.nat(4), (parts, hasHeading, breakAt) => {
      const addresses = RECIPIENTS.slice(0, 3).concat(RECIPIENTS.slice(4))
      const list = addresses.map((address, i) => address + (i === breakAt ? '\n' : (parts[i] ?? ''))).join('')
      const text = `${hasHeading ? 'email\n' : ''}${list}`
      const read = faultOf(text)
      if (!read.startsWith('Several columns')) expect(read).toBe(`read: ${addresses}`)
      if (hasHeading) expect(emailsIn(text)).toEqual(addresses)
    }),
    { numRuns: 500 },
  )
})

test.each([
  // Senders are never chosen.
  ['Sender email,Recipient email,Status\nshop@s.test,ann@a.test,bounced\n', 'read: ann@a.test'],
  ['To,From Address\nann@a.test,shop@s.test\n', 'read: ann@a.test'],
  ['Destinatario,Remitente (email)\nann@a.test,shop@s.test\n', 'read: ann@a.test'],
  ['From\nshop@s.test\n', 'No column of the file is one of recipients. Its columns: From'],
  ['email,owner email\nann@a.test,bob@b.test\n', 'Several columns of the file may be the one of recipients.'],
  ['email,email lower\nAnn@a.test,ann@a.test\n', 'read: Ann@a.test'],
  ['email id,name\nann@a.test,Ann\n', 'read: ann@a.test'],
  // States of life.
  ['email,status\nann@a.test,valid\n', '"status": valid 1'],
  ['email,state\nann@a.test,delivered\n', '"state": delivered 1'],
  ['Email,Status\nann@a.test,Active\nbob@b.test,Bounced\n', '"Status": Active 1, Bounced 1'],
  ['email,severity\nann@a.test,temporary\n', '"severity": temporary 1'],
  ['email,Expired\nann@a.test,yes\n', '"Expired": yes 1'],
  ['email,Expired\nann@a.test,no\n', 'read: ann@a.test'],
  ['email,reason\nann@a.test,delivered too late\n', 'read: ann@a.test'],
  ['[{"email":"ann@a.test","event":"delivered"}]', '"event": delivered 1'],
  // Lost rows.
  ['email,note\nann@a.test,"said no\nbob@b.test,"x\n', 'A quote in line 2 takes in the lines after it'],
  ['email,note\nann@a.test;bob@b.test,x\ncy@c.test,y\n', 'read: several addresses: ann@a.test;bob@b.test,cy@c.test'],
  ['name\temail\nAnn "A\tann@a.test\nBob\t"bob@b.test"\n', 'read: ann@a.test,bob@b.test'],
  [',ann@a.test\nbob@b.test,cy@c.test\n', 'read: ann@a.test,bob@b.test,cy@c.test'],
  // JSON.
  ['{"total":1,"results":[{"recipient":"ann@a.test","sender":"shop@s.test"}]}', 'read: ann@a.test'],
  ['{"unsubscribes":[{"addr":"ann@a.test","n":1}]}', 'read: ann@a.test'],
])('%j is understood: %s', (text, understood) => {
  expect(faultOf(text)).toContain(understood)
})

test('rows are chosen by several columns, and what no row has is refused with what there is', () => {
  const text = 'email,status,kind\nann@a.test,Bounced,hard\nbob@b.test,Bounced,soft\ncy@c.test,Delivered,\n'
  const bounced = { column: 'STATUS', values: ['bounced'] }
  expect(emailsIn(text, { where: [bounced, { column: '3', values: ['hard'] }] })).toEqual(['ann@a.test'])
  expect(faultOf(text, { where: [{ column: 'status', values: ['Bounce'] }] })).toBe(
    'No row has "Bounce" in the column "status". Its values: Bounced 2, Delivered 1',
  )
  expect(faultOf(text, { where: [{ column: 'state', values: ['x'] }] })).toBe(
    'The file has no column "state". Its columns: email, status, kind',
  )
})

test.each([
  ['bounce', 'bounce'],
  ['Hard bounce', 'bounce'],
  ['HardBounce', 'bounce'],
  ['BOUNCE', 'bounce'],
  ['SpamComplaint', 'complaint'],
  ['spam', 'complaint'],
  ['ManualSuppression', 'manual'],
  ['unsub', 'manual'],
  ['contactFlaggedAsSpam', 'complaint'],
  ['Bounce Rule', 'bounce'],
])('the word %j of a column of reasons is %s', (word, reason) => {
  const list = readAddressList(bytesOf(`email,why\nann@a.test,${word}\n`), { reasonColumn: 'why' })
  expect(list).toMatchObject({
    addresses: [{ line: 2, email: 'ann@a.test', reason }],
    reasons: { column: 'why', counts: { [word]: 1 } },
  })
})

test('an unknown reason refuses the file, with the known ones', () => {
  expect(faultOf('email,why\nann@a.test,moon\n', { reasonColumn: 'why' })).toMatch(
    /^These are no reasons: moon\. Known ones: bounce, /,
  )
})

test('in a file of bounces, dates that some rows lack are no states', () => {
  const text = 'email,Last visit,Status\na@one.example,2026-11-30,Bounced\nb@two.example,,Bounced\n'
  expect(emailsIn(text)).toEqual(['a@one.example', 'b@two.example'])
})

test('where a column says in which rows mail arrives, no other one is asked about', () => {
  const text = 'email,type,status\na@one.example,HardBounce,Bounced\nb@two.example,,Delivered\n'
  expect(faultOf(text)).toBe('Some rows may be of mailboxes that take mail. "status": Bounced 1, Delivered 1')
  expect(emailsIn(text, { where: [{ column: 'status', values: ['Bounced'] }] })).toEqual(['a@one.example'])
})
