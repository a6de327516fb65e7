import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allReports } from '../../bench/verdicts/all-reports.ts'
import { judgeReport } from '../../bench/verdicts/judge.ts'
import { labelledReplies, REPLIES, replyOf } from '../../bench/verdicts/labelled.ts'
import { COPY, dsn, parts, plain, SHAPES } from '../../bench/verdicts/report-shapes.ts'
import { isAtLeast, type Kind } from '../../mail/smtp/attempt.ts'
import { kindAgainst, mailboxOf } from '../../server/inbound/member.ts'
import { readReport } from '../../server/inbound/report.ts'
import { read, strength } from '../mail/smtp/laws/read.ts'
import { besideNotice } from './report-spellings.ts'

// What a report may never do to an address that exists, whatever the reply in it and whoever reports it.

const RUNS = { numRuns: 60 }
const RETURN_PATH = 'b.01kctznv0zf3kanvqtfn6xkbd4.0123456789abcdef@rp.sender.example'
const ANN = 'ann@example.net'
const BOB = 'bob@third.example'

/** What the report counts against Ann: the strongest of its failures. */
async function against(mail: string): Promise<Kind | undefined> {
  const report = await readReport(Buffer.from(mail), { hasNullSender: true, returnPath: RETURN_PATH })
  const failures = report.kind === 'bounce' ? report.failures : []
  const kinds = failures.map(({ kind, failedAddress }) =>
    kindAgainst(kind, failedAddress === undefined ? 'same' : mailboxOf(failedAddress, ANN)),
  )
  return kinds.find((kind) => kinds.every((other) => isAtLeast(kind, other)))
}

const isAtMostRefused = (kind: Kind | undefined) => isAtLeast('refused', kind)

/** Replies that count against an address, each in one line without another server's. */
const SAID = REPLIES.flatMap(labelledReplies).filter(({ kind, phase }) => kind !== '-' && phase === 'rcpt')
const reply = fc.constantFrom(...SAID.map(({ line }) => line))
const REPORTS = allReports().filter(({ kind }) => kind !== '-')

const SYSTEM = { from: 'MAILER-DAEMON@mx.example.net', subject: 'Undelivered Mail Returned to Sender' }
const group = (more = '', status = '5.0.0') =>
  `Final-Recipient: rfc822; ${ANN}\nAction: failed\nStatus: ${status}\n${more}`
const quoting = (line: string) => group(`Diagnostic-Code: smtp; ${line}\n`)
type Form = (text: string, line: string) => string
/** The forms of a report in which the text alone says why. */
const IN_TEXT: Record<string, Form> = {
  'text alone': (text) => plain(SYSTEM, text),
  'text with a field of the recipients': (text) => plain({ ...SYSTEM, more: `X-Failed-Recipients: ${ANN}\n` }, text),
  'a status part that says nothing': (text) => dsn(SYSTEM, text, group()),
}
/** And those whose fields say so, too. */
const FORMS: Record<string, Form> = {
  ...IN_TEXT,
  'a status part that quotes the reply': (text, line) => dsn(SYSTEM, text, quoting(line)),
  'a status part with a status alone': (text) => dsn(SYSTEM, text, group('', '5.1.1')),
}

const verbOf = (command: string) => command.replace(/:.*| mail\..*/, '')

/** How each reporter names the command that the reply is to. */
const DIALOGUES: Record<string, (command: string, line: string) => string> = {
  Postfix: (command, line) =>
    `<${ANN}>: host mx2.example.net[198.51.100.7] said: ${line} (in reply to\n    ${verbOf(command)} command)`,
  Sendmail: (command, line) =>
    `   ----- The following addresses had permanent fatal errors -----\n<${ANN}>\n    (reason: ${line})\n\n   ----- Transcript of session follows -----\n... while talking to mx2.example.net.:\n>>> ${command}\n<<< ${line}`,
  Courier: (command, line) => `<${ANN}>:\n    mx2.example.net [198.51.100.7]:\n>>> ${command}\n<<< ${line}`,
  Exim: (command, line) =>
    `  ${ANN}\n    host mx2.example.net [198.51.100.7]\n    SMTP error from remote mail server after ${command}:\n    ${line}`,
  'Exim, pipelined': (command, line) =>
    `  ${ANN}\n    SMTP error from remote mail server after pipelined ${command} SIZE=2048:\n    host mx2.example.net [198.51.100.7]: ${line}`,
  dma: (command, line) =>
    `There was an error delivering your mail to <${ANN}>.\n\nmx2.example.net [198.51.100.7] did not like our ${verbOf(command)}:\n${line}`,
  hMailServer: (command, line) =>
    `${ANN}\n   Error Type: SMTP\n   Remote server (198.51.100.7) issued an error.\n   hMailServer sent: ${command}\n   Remote server replied: ${line}`,
  InterScan: (command, line) => `Your message to <${ANN}> failed.\n\nSent <<< ${command}\nReceived >>> ${line}`,
  Stalwart: (command, line) =>
    `<${ANN}> (host 'mx2.example.net' rejected command '${command}' with code ${line.slice(0, 3)} '${line.slice(4)}')`,
  'a whole session': (command, line) => `${ANN}\n\nC: EHLO mail.example.net\nS: 250 OK\nC: ${command}\nS: ${line}`,
}
const COMMANDS = [`MAIL FROM:<${RETURN_PATH}>`, `MAIL From:<${RETURN_PATH}>`, 'EHLO mail.example.net', 'STARTTLS']
const RCPT = `RCPT TO:<${ANN}>`
const QMAIL = ['Connected to 198.51.100.7 but sender was rejected.', 'Connected to 198.51.100.7 but greeting failed.']

const form = fc.constantFrom(...Object.values(FORMS))
const dialogue = fc.constantFrom(...Object.values(DIALOGUES))

test("a refusal before the recipient is the sender's in the words of every reporter", async () => {
  const property = fc.asyncProperty(
    form,
    dialogue,
    fc.constantFrom(...COMMANDS),
    reply,
    async (form, write, command, line) => {
      expect(await against(form(write(command, line), line))).toBeUndefined()
    },
  )
  await fc.assert(property, RUNS)
  const qmail = fc.asyncProperty(form, fc.constantFrom(...QMAIL), reply, async (form, words, line) => {
    const text = `<${ANN}>:\n${words}\nRemote host said: ${line}\nGiving up on 198.51.100.7.`
    expect(await against(form(text, line))).toBeUndefined()
  })
  await fc.assert(qmail, RUNS)
})

test.each(Object.entries(DIALOGUES))('in the words of %s, a refusal of the recipient counts', async (_, write) => {
  const line = '550 5.1.1 User unknown'
  for (const form of Object.values(FORMS)) expect(await against(form(write(RCPT, line), line))).not.toBeUndefined()
})

test('no labelled report counts where its reply is to a command before the recipient', async () => {
  for (const report of REPORTS) {
    const [, line] = /: (5\d\d .*)$/.exec(report.source) ?? []
    if (line === undefined) continue
    const mail = report.mail.replaceAll(line, `${line} (in reply to MAIL FROM command)`)
    if (mail === report.mail) continue
    expect.soft((await judgeReport({ ...report, mail })).got.kind, report.source).toBe('-')
  }
})

const textOf = (mail: string) =>
  mail
    .split(/\r?\n\r?\n/)
    .slice(1)
    .join('\n\n')
const quotationOf = (text: string) =>
  text
    .split(/\r?\n/)
    .map((line) => `> ${line}`)
    .join('\n')

test('what a report quotes of any other report adds nothing', async () => {
  for (const { mail, source } of REPORTS) {
    const text = `Your message to <${ANN}> came back.\n\n${quotationOf(textOf(mail))}`
    for (const [name, form] of Object.entries(IN_TEXT))
      expect.soft(await against(form(text, '')), `${source}, ${name}`).toBeUndefined()
  }
})

test('a quoted reply beside any labelled report changes nothing', async () => {
  const property = fc.asyncProperty(fc.constantFrom(...allReports()), reply, async (report, line) => {
    const { got } = await judgeReport({ ...report, mail: besideNotice(report.mail, `> ${line}`) })
    const plainly = (await judgeReport(report)).got
    expect(got.kind).toBe(plainly.kind)
  })
  await fc.assert(property, RUNS)
})

/** A notice with a line that the message has, too. */
const showing = (text: string, subject: string, line: string) =>
  parts(SYSTEM, 'multipart/mixed', [
    ['text/plain; charset=utf-8', text],
    ['message/rfc822', COPY.replace('Your order', subject).replace('Thank you', `${line}\nThank you`)],
  ])

test('a line of our message, or its subject behind any label, is no reply', async () => {
  const label = fc.constantFrom('Title', 'Konu', 'Emne', 'Ämne', 'Re', 'Message', 'Reason', 'Error', '标题')
  const property = fc.asyncProperty(reply, label, async (line, label) => {
    fc.pre(!line.includes('@'))
    const preview = `Your message to <${ANN}> came back.\n\nPreview:\n${line}`
    expect(await against(showing(preview, 'Your order', line))).toBeUndefined()
    const titled = `Your message to <${ANN}> came back.\n\n${label}: ${line}`
    expect(await against(showing(titled, line, 'Hello'))).toBeUndefined()
  })
  await fc.assert(property, RUNS)
})

test('the folded lines of a subject are no reply', async () => {
  const property = fc.asyncProperty(reply, async (line) => {
    const text = `Your message\n\n  Subject: Report of the night\n     ${line}\n\nwas not delivered to:\n\n  ${ANN}\n`
    expect(await against(plain(SYSTEM, text))).toBeUndefined()
  })
  await fc.assert(property, RUNS)
})

test('a code that no words of a server introduce, in a paragraph without the recipient, is refused at most', async () => {
  const label = fc
    .stringMatching(/^[A-Z][a-z]{2,8}$/)
    .filter(
      (word) => !/serv|host|remote|respon|risp|answer|repl|said|says|return|receiv|error|reason|melding/i.test(word),
    )
  const property = fc.asyncProperty(reply, label, async (line, label) => {
    const text = `Your message to <${ANN}> came back.\n\n${label}: ${line}`
    expect(isAtMostRefused(await against(plain(SYSTEM, text)))).toBe(true)
    expect(isAtMostRefused(await against(dsn(SYSTEM, text, group())))).toBe(true)
  })
  await fc.assert(property, RUNS)
})

/** How reporters say that Bob failed, to whom Ann forwards or who is a member of Ann's list. */
const MEMBERS: Record<string, (line: string) => string> = {
  'expanded from': (line) => `<${BOB}> (expanded from <${ANN}>): host mx.third.example[198.51.100.7] said: ${line}`,
  Sendmail: (line) => `<${BOB}>\n    (reason: ${line})\n    (expanded from: <${ANN}>)`,
  'a local user': (line) => `bob\n    (reason: ${line})\n    (expanded from: <${ANN}>)`,
  'generated from': (line) =>
    `  ${BOB}\n    (generated from ${ANN})\n    host mx.third.example [198.51.100.7]: ${line}`,
  'ultimately generated from': (line) => `  ${BOB}\n    (ultimately generated from ${ANN})\n    ${line}`,
  'a pipe': (line) => `  |/usr/local/bin/ticket\n    (generated from ${ANN})\n    ${line}`,
  'from and to': (line) => `Forwarding from ${ANN} to ${BOB} failed:\n${line}`,
  'an arrow': (line) => `${ANN} -> ${BOB}: ${line}`,
  via: (line) => `${BOB} (via ${ANN})\n${line}`,
  'an alias': (line) => `The alias ${ANN} contains ${BOB}.\n\n${BOB}:\n${line}`,
  'a member': (line) => `<${ANN}>\n  member ${BOB}\n  ${line}`,
  'a forward': (line) => `Your message was handed to ${BOB}, whose server said: ${line}`,
  'a member without a name': (line) => `A member of ${ANN} could not be reached:\n${line}`,
  'a hidden member': (line) => `  ${ANN}\n    SMTP error from remote mail server after RCPT TO:<${BOB}>:\n    ${line}`,
}

test.each(Object.entries(MEMBERS))('where a member fails, the recipient does not: %s', async (_, write) => {
  const property = fc.asyncProperty(reply, async (said) => {
    const line = said.replaceAll(ANN, BOB)
    for (const [name, form] of Object.entries(FORMS))
      expect(isAtMostRefused(await against(form(write(line), line))), name).toBe(true)
  })
  await fc.assert(property, RUNS)
})

/** How reporters say that our own server refused our return path, as in a callout. */
const CALLOUTS: Record<string, (line: string) => string> = {
  Exim: (line) => `  ${ANN}\n    SMTP error from remote mail server after RCPT TO:<${RETURN_PATH}>:\n    ${line}`,
  'a gateway': (line) => `<${ANN}>:\nSender verify failed for <${RETURN_PATH}>: ${line}`,
  'words before the reply': (line) => `<${ANN}>\n  ${RETURN_PATH} could not be verified. Its server said:\n  ${line}`,
  'our host': (line) => `<${ANN}>: host mail.sender.example[192.0.2.25] said: ${line}`,
  'a reply to the sender': (line) => `<${ANN}>: the automatic reply to the sender failed: ${line}`,
  'a notification': (line) => `<${ANN}>: delivery notification to sender refused with ${line}`,
  'a German gateway': (line) => `<${ANN}>: Absenderverifikation gescheitert: ${line}`,
  'a Spanish gateway': (line) => `<${ANN}>\nNo se pudo verificar el remitente:\n${line}`,
  'our host, alone': (line) => `<${ANN}>:\nConnected to rp.sender.example.\nRemote host said: ${line}`,
}

test.each(Object.entries(CALLOUTS))('what is said of us is refused at most of the recipient: %s', async (_, write) => {
  const property = fc.asyncProperty(reply, async (line) => {
    fc.pre(!line.includes('@'))
    for (const [name, form] of Object.entries(IN_TEXT))
      expect(isAtMostRefused(await against(form(write(line), line))), name).toBe(true)
  })
  await fc.assert(property, RUNS)
})

test('a report that says that the recipient was reached, or is still tried, counts refused at most', async () => {
  const action = fc.constantFrom('delivered', 'relayed', 'expanded', 'delayed')
  const property = fc.asyncProperty(reply, action, fc.boolean(), async (line, action, isFirst) => {
    const other = group('', '2.0.0').replace('failed', action)
    const groups = isFirst ? [other, quoting(line)] : [quoting(line), other]
    expect(isAtMostRefused(await against(dsn(SYSTEM, 'Sorry.', groups.join('\n'))))).toBe(true)
  })
  await fc.assert(property, RUNS)
})

test('a report about another address says nothing of a recipient whose fields say nothing', async () => {
  for (const { mail, source } of REPORTS) {
    const text = textOf(mail)
      .replaceAll('ann@example.net', BOB)
      .replace(/^--=_p[\s\S]*?\r?\n\r?\n/, '')
    expect.soft(await against(dsn(SYSTEM, text.replace(/\r?\n--=_p[\s\S]*/, ''), group())), source).toBeUndefined()
  }
})

test.each([
  'X-Actual-Recipient: rfc822; |/usr/bin/vacation',
  'X-Actual-Recipient: x-unix; |/usr/bin/vacation',
  'X-Actual-Recipient: x-local; bob',
  `X-Actual-Recipient: rfc822; ${BOB}`,
])('a failure of "%s" is none of the recipient, whatever the reply', async (field) => {
  const property = fc.asyncProperty(reply, async (line) => {
    expect(await against(dsn(SYSTEM, 'Sorry.', `${quoting(line)}${field}\n`))).toBeUndefined()
  })
  await fc.assert(property, RUNS)
})

test.each(['x400; /S=bob/O=x/', 'LOCAL; <bob>', 'bob', `x-other; ${BOB}`, `${BOB}`])(
  'a final recipient "%s" is another mailbox',
  async (value) => {
    const property = fc.asyncProperty(reply, async (line) => {
      const fields = `Original-Recipient: rfc822;${ANN}\n${quoting(line).replace(`rfc822; ${ANN}`, value)}`
      expect(await against(dsn(SYSTEM, 'Sorry.', fields))).toBeUndefined()
    })
    await fc.assert(property, RUNS)
  },
)

test('only a diagnostic of SMTP or LMTP quotes a server; a program of the reporter is refused at most', async () => {
  const type = fc.constantFrom('x-unix', 'X-Unix', 'x-local', 'x-postfix', 'unknown', 'system')
  const property = fc.asyncProperty(reply, type, async (line, type) => {
    const words = `<${ANN}>: Command died with status 1: "/opt/push". Command output: ${line}`
    for (const text of ['Sorry.', words])
      expect(isAtMostRefused(await against(dsn(SYSTEM, text, group(`Diagnostic-Code: ${type}; ${line}\n`))))).toBe(true)
    expect(isAtMostRefused(await against(plain(SYSTEM, words)))).toBe(true)
    const alone = read({ phase: 'late', reply: replyOf(line), mx: '' })
    for (const smtp of ['smtp', 'SMTP', 'lmtp'])
      expect((await against(dsn(SYSTEM, 'Sorry.', group(`Diagnostic-Code: ${smtp}; ${line}\n`)))) ?? 'none').toBe(
        alone.kind,
      )
  })
  await fc.assert(property, RUNS)
})

test('a status about anything but the mailbox, or a refusal by our own server, leaves at most refused', async () => {
  const status = fc
    .tuple(fc.constantFrom('4', '5'), fc.integer({ min: 1, max: 7 }), fc.integer({ min: 0, max: 30 }))
    .filter(
      ([, subject, detail]) =>
        ![1, 2].includes(subject) || (subject === 1 ? [2, 7, 8, 9].includes(detail) : detail > 1),
    )
    .filter(([, , detail]) => detail > 0)
    .map((numbers) => numbers.join('.'))
  const property = fc.asyncProperty(reply, status, async (line, status) => {
    const alone = read({ phase: 'late', reply: replyOf(line), mx: '' })
    const ours = `${quoting(line)}Remote-MTA: dns; mail.sender.example\n`
    for (const fields of [group(`Diagnostic-Code: smtp; ${line}\n`, status), ours]) {
      const kind = await against(dsn(SYSTEM, 'Sorry.', fields))
      expect(isAtMostRefused(kind)).toBe(true)
      expect(strength({ ...alone, kind: kind ?? 'none' })).toBeLessThanOrEqual(strength(alone))
    }
  })
  await fc.assert(property, RUNS)
})

test('a status without words is read with the words of the text', async () => {
  for (const diagnostic of ['', 'Diagnostic-Code: smtp; 550 5.1.1\n', `Diagnostic-Code: smtp; 550 5.1.1 <${ANN}>\n`]) {
    const kind = (text: string) => against(dsn(SYSTEM, text, group(diagnostic, '5.1.1')))
    expect(await kind(`${ANN}: the group is moderated`)).toBeUndefined()
    expect(await kind(`${ANN}: you may not write to this user`)).toBe('status')
  }
})

test('a bounce stays a bounce when its copy has the field of a complaint', async () => {
  const kindOf = async (mail: string) => (await readReport(Buffer.from(mail))).kind
  for (const [name, write] of SHAPES) {
    const mail = write({ reply: '552 5.2.2 Mailbox is over quota' })
    const marked = mail.replaceAll(/^Subject: Your order/gm, `X-HmXmrOriginalRecipient: ${ANN}\r\n$&`)
    expect.soft(await kindOf(marked), name).toBe('bounce')
  }
})
