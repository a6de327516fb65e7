// The law: a report that came back is read alike however it is written, and beside the words of gateways and harmless
// sentences. What a server said counts no more inside the report of a mail system than alone. The reader never throws,
// and takes less than a second of a processor, also for a mail that is cut, broken or made to take long.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { allReports } from '../bench/verdicts/all-reports.ts'
import { judgeReport } from '../bench/verdicts/judge.ts'
import { labelledReplies, NAMES, REPLIES } from '../bench/verdicts/labelled.ts'
import { SHAPES } from '../bench/verdicts/report-shapes.ts'
import { readReport } from '../server/inbound/report.ts'
import { besideNotice, LF_ALONE, REPORT_SPELLINGS } from '../test/inbound/report-spellings.ts'
import { HARMLESS } from '../test/mail/smtp/laws/harmless.ts'
import { read, strength } from '../test/mail/smtp/laws/read.ts'
import { alone, type Target } from './target.ts'

const MOST_CPU_MS = 1_000
const MEGABYTE = 1024 * 1024

/** What a reader knows of us: the address that the report was sent to, and its domains. */
const RETURN_PATH = ['b.01@rp.sender.example', 'rp.sender.example', 'sender.example'] as const

const REPORTS = new Map(allReports().map((report) => [report.source, report]))
const SHAPE_OF = new Map(SHAPES)
/** Replies to RCPT and later. One with line breaks of its own would be other lines in some shapes. */
const SAID = new Map(
  REPLIES.flatMap(labelledReplies)
    .filter(({ phase }) => phase === 'rcpt' || phase === 'late')
    .map((labelled) => [labelled.line, labelled]),
)

const rewritten = fc.record({
  report: fc.constantFrom(...REPORTS.keys()),
  ways: fc.uniqueArray(fc.constantFrom(...Object.keys(REPORT_SPELLINGS)), { maxLength: 4 }),
  harmless: fc.option(fc.constantFrom(...HARMLESS)),
})
const framed = fc.record({
  shape: fc.constantFrom(...SHAPE_OF.keys()),
  reply: fc.constantFrom(...SAID.keys()),
})
/** Lengths and places in octets. */
const broken = fc.record({
  report: fc.constantFrom(...REPORTS.keys()),
  octets: fc.array(fc.record({ at: fc.nat(3_000), octet: fc.nat(255) }), { maxLength: 6 }),
  repeated: fc.option(fc.record({ from: fc.nat(3_000), length: fc.integer({ min: 1, max: 200 }) }), { freq: 3 }),
  end: fc.option(fc.nat(5_000)),
})
const inputs = fc.oneof(rewritten, rewritten, framed, broken)
type Input = typeof inputs extends fc.Arbitrary<infer I> ? I : never

export const reports: Target<Input> = {
  inputs,
  start: () =>
    alone((input) => {
      if ('ways' in input) return checkRewritten(input)
      return 'shape' in input ? checkFramed(input) : checkBroken(input)
    }),
}

async function checkRewritten({ report: name, ways, harmless }: Extract<Input, { ways: unknown }>): Promise<void> {
  const report = REPORTS.get(name)!
  const plain = harmless === null ? report.mail : besideNotice(report.mail, harmless)
  // The other ways find the header by CRLF.
  const ordered = ways.toSorted((a, b) => Number(a === LF_ALONE) - Number(b === LF_ALONE))
  const mail = ordered.reduce((text, way) => REPORT_SPELLINGS[way]!(text), plain)
  const [before, after] = [await judgeReport(report), await judgeReport({ ...report, mail })]
  const said = ({ got: { verdict, kind } }: typeof before) => ({ verdict, kind })
  assert.deepEqual(said(after), said(before), `${name} is read in another way:\n${mail}`)
}

async function checkFramed({ shape, reply: line }: Extract<Input, { shape: unknown }>): Promise<void> {
  const { reply, mx } = SAID.get(line)!
  const mail = SHAPE_OF.get(shape)!({ reply: line })
  const [returnPath] = RETURN_PATH
  const report = await readReport(Buffer.from(mail), { hasNullSender: true, returnPath })
  const alone = read({ phase: 'late', reply, mx, names: { ...NAMES, ours: RETURN_PATH } })
  for (const { kind = 'none', readAs } of report?.kind === 'bounce' ? report.failures : [])
    assert.ok(strength({ ...alone, kind }) <= strength(alone), `${kind} ${readAs}, alone ${alone.kind} ${alone.readAs}`)
}

async function checkBroken({ report, octets, repeated, end }: Extract<Input, { end: unknown }>): Promise<void> {
  let mail = Buffer.from(REPORTS.get(report)!.mail)
  for (const { at, octet } of octets) if (at < mail.length) mail[at] = octet
  if (repeated) {
    const { from, length } = repeated
    const part = mail.subarray(from, from + length)
    const parts = part.length === 0 ? [] : Array(Math.floor(MEGABYTE / part.length)).fill(part)
    mail = Buffer.concat([mail.subarray(0, from), ...parts, mail.subarray(from)])
  }
  if (end !== null) mail = mail.subarray(0, mail.length - end)
  const before = process.threadCpuUsage()
  await readReport(mail)
  const { user, system } = process.threadCpuUsage(before)
  assert.ok((user + system) / 1_000 < MOST_CPU_MS, `reading took ${(user + system) / 1_000} ms of a processor`)
}
