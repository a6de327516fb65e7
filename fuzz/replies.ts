// The law: a reply counts no more against its recipient than the strongest of its sentences read alone, a harmless
// sentence changes nothing where words decided, and neither does another spelling.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type LabelledReply, labelledReplies, REPLIES } from '../bench/verdicts/labelled.ts'
import { GIBBERISH } from '../test/mail/smtp/laws/gibberish.ts'
import { HARMLESS } from '../test/mail/smtp/laws/harmless.ts'
import { phrasesOfTables } from '../test/mail/smtp/laws/phrases.ts'
import { type Read, read, strength } from '../test/mail/smtp/laws/read.ts'
import { SPELLINGS } from '../test/mail/smtp/laws/spellings.ts'
import { alone, type Target } from './target.ts'

const LABELLED = REPLIES.flatMap(labelledReplies)
const SAID = [...new Set(LABELLED.map(({ reply }) => reply.text))].filter((text) => text !== '')

const inputs = fc.record({
  phase: fc.constantFrom('rcpt', 'data', 'dot', 'late'),
  code: fc.constantFrom(421, 450, 451, 452, 550, 551, 552, 553, 554),
  status: fc.option(fc.constantFrom(...['0.0', '1.0', '1.1', '1.3', '1.10', '2.0', '2.1', '2.2', '4.1', '5.3', '7.1'])),
  sentences: fc.array(fc.constantFrom(...SAID, ...phrasesOfTables(), ...GIBBERISH), { minLength: 1, maxLength: 4 }),
  harmless: fc.constantFrom(...HARMLESS),
  spelling: fc.constantFrom(...SPELLINGS.filter(({ isOfAnyReply }) => isOfAnyReply).map(({ name }) => name)),
})
type Input = typeof inputs extends fc.Arbitrary<infer I> ? I : never

export const replies: Target<Input> = { inputs, start: () => alone(check) }

const ended = (text: string) => (/[.;!?。]$/.test(text) ? text : `${text}.`)

function check({ phase, code, status, sentences, harmless, spelling }: Input): void {
  const enhanced = status === null ? undefined : `${Math.floor(code / 100)}.${status}`
  const place = (text: string) => ({
    phase: phase as LabelledReply['phase'],
    mx: 'mx.example.net',
    reply: enhanced === undefined ? { code, text } : { code, enhanced, text },
  })
  const text = sentences.map(ended).join(' ')
  const whole = read(place(text))
  const apart = sentences.map((sentence) => read(place(ended(sentence))))
  assert.ok(strength(whole) <= Math.max(...apart.map(strength)), `${text}: ${said(whole)}, apart ${apart.map(said)}`)
  if (whole.decidedBy !== 'words') return
  const helped = read(place(`${text} ${harmless}`))
  assert.equal(helped.kind, whole.kind, `${text} ${harmless}: ${said(helped)}, without ${said(whole)}`)
  const line = [code, enhanced, text].filter(Boolean).join(' ')
  const labelled = { ...place(text), line, source: '', subject: '', reason: '', kind: '' }
  const changed = SPELLINGS.find(({ name }) => name === spelling)?.change(labelled)
  if (!changed) return
  const respelt = read(changed)
  assert.deepEqual(
    [respelt.kind, respelt.reason],
    [whole.kind, whole.reason],
    `${changed.reply.text}: ${said(respelt)}, before ${said(whole)}`,
  )
}

const said = ({ kind, readAs }: Read) => `${kind} ${readAs}`
