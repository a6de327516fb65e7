import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { replyOf } from '../../../bench/verdicts/labelled.ts'
import { ruleFor } from '../../../mail/smtp/classify.ts'
import { isServerTrouble } from '../../../mail/smtp/next-hosts.ts'

/** The words of every reply that a row of the tables is tested with. */
const texts = readFileSync(new URL('rows.txt', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line) => /^(?:\[\S+\] )?[45]\d\d[ -](?:[45]\.\d+\.\d+ )?(.*)$/.exec(line)?.[1] ?? [])

test('whatever codes a reply has, one about the recipient, or about who sends and how often, asks no other exchanger', () => {
  const codes = ['421', '421 4.3.2', '450 4.4.1', '451 4.3.0', '452 4.3.1', '550 5.3.0', '554 5.4.4']
  const kinds = new Set<boolean>()
  for (const text of texts)
    for (const code of codes) {
      const reply = replyOf(`${code} ${text}`)
      const { subject, name: row } = ruleFor({ phase: 'rcpt', reply, mx: 'mx.example.net' })
      const isAboutServer = reply.code < 500 && subject === 'sender' && !['greylisting', 'rate'].includes(row)
      const asksNext = isServerTrouble(reply, { subject, row })
      if (!isAboutServer) expect(asksNext, `${code} ${text}`).toBe(false)
      kinds.add(asksNext)
    }
  expect(kinds.size).toBe(2)
})
