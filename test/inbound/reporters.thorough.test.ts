import fc from 'fast-check'
import { expect, test } from 'vitest'
import { labelledReplies, REPLIES, replyOf } from '../../bench/verdicts/labelled.ts'
import { dsn, plain, SHAPES } from '../../bench/verdicts/report-shapes.ts'
import { isAtLeast } from '../../mail/smtp/attempt.ts'
import { type Report, readReport } from '../../server/inbound/report.ts'
import { GIBBERISH } from '../mail/smtp/laws/gibberish.ts'
import { HARMLESS } from '../mail/smtp/laws/harmless.ts'
import { phrasesOfTables } from '../mail/smtp/laws/phrases.ts'
import { read, strength } from '../mail/smtp/laws/read.ts'

// Who speaks in a report. The recipient's server, whose reply a report quotes, decides. A reporter without a reply is
// believed less, and what is neither from a mail system nor quotes a reply about our message is no report at all.

const RUNS = { numRuns: 300 }
const [RETURN_PATH] = ['b.01kctznv0zf3kanvqtfn6xkbd4.0123456789abcdef@rp.sender.example']
const readOf = (mail: string, hasNullSender = true) =>
  readReport(Buffer.from(mail), { hasNullSender, returnPath: RETURN_PATH })
const failuresOf = (report: Report) => (report.kind === 'bounce' ? report.failures : [])

const SAID = REPLIES.flatMap(labelledReplies).filter(({ phase }) => phase === 'rcpt' || phase === 'late')
const reply = fc.constantFrom(...SAID.map(({ line }) => line))
const status = fc.constantFrom('5.1.1', '5.1.3', '5.1.6', '5.1.10', '5.2.1', '5.2.2', '5.7.1', '5.0.0', '4.2.2')
/** Words that a mail may have: phrases of all rules, sentences that mean nothing, and no words at all. */
const words = fc
  .array(fc.constantFrom(...phrasesOfTables(), ...HARMLESS, ...GIBBERISH, ...SAID.map(({ line }) => line.slice(4))), {
    minLength: 1,
    maxLength: 4,
  })
  .map((all) => all.map((text) => text.replaceAll(/[\r\n]/g, ' ')).join('. '))
const shape = fc.constantFrom(...SHAPES.map(([, write]) => write))
const head = { from: 'MAILER-DAEMON@mx.example.net', subject: 'Undelivered Mail Returned to Sender' }
const fieldsOf = (status: string, line: string) =>
  `Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: ${status}\nDiagnostic-Code: smtp; ${line}\n`

test('the status of a reporter never makes the reply that it quotes stronger', async () => {
  const property = fc.asyncProperty(reply, status, async (line, status) => {
    const [failure] = failuresOf(await readOf(dsn(head, 'It did not work.', fieldsOf(status, line))))
    const alone = read({ phase: 'late', reply: replyOf(line), mx: '' })
    expect(strength({ ...alone, kind: failure?.kind ?? 'none' })).toBeLessThanOrEqual(strength(alone))
  })
  await fc.assert(property, RUNS)
})

test('a reporter that quotes no reply never says beyond doubt that a mailbox is unknown', async () => {
  const isReply = /(?:^|[^\d.])[45]\d\d(?:[^\d.]|$)/
  const property = fc.asyncProperty(shape, words, async (write, words) => {
    fc.pre(!isReply.test(words))
    for (const { kind, code } of failuresOf(await readOf(write({ reply: '', words }))))
      if (code === undefined) expect(isAtLeast(kind, 'unknown')).toBe(false)
  })
  await fc.assert(property, RUNS)
})

const LOCAL_PARTS = ['no-reply', 'noreply', 'support', 'ann', 'admin', 'bounce', 'helpdesk', 'smtp', 'system', 'info']
const SUBJECTS = [
  'Delivery failed',
  'Undeliverable: your order',
  'Returned mail: User unknown',
  'Out of office',
  'Ticket 550 was closed',
  'Nicht zustellbar',
  '退信',
]

test('what a program or a person writes is no bounce, whatever its words, unless it quotes a reply and our message', async () => {
  const other = fc.record({
    from: fc.constantFrom(...LOCAL_PARTS).map((local) => `${local}@desk.example`),
    more: fc.constantFrom('', 'Auto-Submitted: auto-generated\n', 'Auto-Submitted: auto-replied\n'),
  })
  const automatic = fc.record({
    from: fc.constantFrom('postmaster@desk.example', 'MAILER-DAEMON@desk.example', 'Desk <mdaemon@desk.example>'),
    more: fc.constantFrom('Auto-Submitted: auto-generated\n', 'Auto-Submitted: auto-replied\n'),
  })
  const property = fc.asyncProperty(
    fc.oneof(other, automatic),
    fc.constantFrom(...SUBJECTS),
    words,
    async (sender, subject, words) => {
      // Without a copy of our message nothing says that the words are about it.
      expect(await readOf(plain({ ...sender, subject }, `About ann@example.net: ${words}`))).toMatchObject({
        kind: 'none',
      })
    },
  )
  await fc.assert(property, RUNS)
})

test('the notice of a mail system is read by the reply that it quotes, in whatever language the rest is', async () => {
  const anyWords = fc.constantFrom(
    ...GIBBERISH,
    'Impossibile recapitare il messaggio',
    'Сбой доставки',
    '배달하지 못했습니다',
    'Η παράδοση απέτυχε',
    'Livrarea nu a reușit',
    '邮件无法发送',
  )
  const property = fc.asyncProperty(reply, anyWords, anyWords, async (line, subject, words) => {
    const body = `${words}:\n\nann@example.net\n\n${words}\n\nann@example.net\n#${line}\n`
    const report = await readOf(plain({ from: 'postmaster@example.net', subject: `${subject}: Hello` }, body))
    const alone = read({ phase: 'late', reply: replyOf(line), mx: '' })
    const [failure] = failuresOf(report)
    expect(failure?.kind ?? 'none', line).toBe(alone.kind)
  })
  await fc.assert(property, RUNS)
})

test('a bounce with a sender is none: a mail system has no sender', async () => {
  for (const [name, write] of SHAPES)
    expect(await readOf(write({ reply: '550 5.1.1 User unknown' }), false), name).toEqual({
      kind: 'none',
      why: 'its envelope has a sender, and a bounce has none',
    })
})
