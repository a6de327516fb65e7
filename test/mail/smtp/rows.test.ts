import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { NAMES, replyOf } from '../../../bench/verdicts/labelled.ts'
import { classify } from '../../../mail/smtp/classify.ts'
import type { ReplyPhase, ReplyRule } from '../../../mail/smtp/rules/rule.ts'
import { RULES, readAs } from '../../../mail/smtp/rules.ts'

const replies = readFileSync(new URL('rows.txt', import.meta.url), 'utf8')
  .split(/\n{2,}/)
  .slice(1)
  .map((block) => {
    const [heading = '', ...lines] = block.trim().split('\n')
    const [, mx = 'mx.example.net', line = ''] = /^(?:\[(\S+)\] )?(.*)$/.exec(heading)!
    const places = lines.flatMap((each) => {
      const [, phases = '', verdict] = /^ {2}([a-z ]+): (.*)$/.exec(each) ?? []
      return phases.split(' ').map((phase) => ({ phase: phase as ReplyPhase, verdict }))
    })
    return { mx, line, reply: replyOf(line.padEnd(4)), places }
  })

type Reply = (typeof replies)[number]

function verdictOf({ mx, reply }: Reply, phase: ReplyPhase): string {
  const { outcome, reading } = classify({ phase, reply, mx, names: NAMES })
  const { kind = '-', decidedBy, words } = reading!
  const reason = outcome.kind === 'bounced' ? outcome.reason : outcome.kind
  return `${readAs(reading!)} ${reason} ${kind} ${decidedBy}${words === undefined ? '' : `: ${words}`}`
}

test.each(replies)('$line', (reply) => {
  const { places } = reply
  expect(places.map(({ phase }) => ({ phase, verdict: verdictOf(reply, phase) }))).toEqual(places)
})

/** Whether a changed row decides a reply otherwise. Most often it is one that the row itself decides. */
function isDecided(row: string): boolean {
  const isOwn = ({ places }: Reply) => places.some(({ verdict }) => verdict!.startsWith(row))
  return [...replies.filter(isOwn), ...replies].some((reply) =>
    reply.places.some(({ phase, verdict }) => verdictOf(reply, phase) !== verdict),
  )
}

/** The row without one of its conditions, or with one value less in it; and as one that never holds. */
function changesOf(rule: ReplyRule): { without: string; change: Partial<ReplyRule> }[] {
  const { name, subject, reason, phases, ...conditions } = rule
  const each = Object.entries({ ...conditions, ...(phases && { phases }) }).flatMap(([key, value]) => [
    { without: key, change: { [key]: undefined } },
    ...(Array.isArray(value)
      ? value.map((one) => ({ without: `${key} ${one}`, change: { [key]: value.filter((other) => other !== one) } }))
      : []),
  ])
  return [{ without: 'the row', change: { phases: [] } }, ...each]
}

/** The statuses that exist or may come (RFC 3463), as replies have them. */
const STATUSES = [2, 4, 5].flatMap((digit) =>
  Array.from({ length: 10 }, (_, subject) =>
    Array.from({ length: 400 }, (_, detail) => `${digit}.${subject}.${detail}`),
  ).flat(),
)

test('a row with a status has no other status that begins like it, unless it has all of the subject', () => {
  for (const status of RULES.flatMap((rule) => rule.status ?? [])) {
    const held = STATUSES.filter((each) => status.test(each))
    expect(held).not.toEqual([])
    const subjectOf = (each: string) => each.replace(/\d+$/, '')
    const partial = new Set(STATUSES.filter((each) => !status.test(each)).map(subjectOf))
    const single = held.filter((each) => partial.has(subjectOf(each)))
    const longer = single.flatMap((each) => [...'0123456789'].map((digit) => each + digit))
    expect(longer.filter((each) => status.test(each) && !held.includes(each))).toEqual([])
  }
})

/** They always hold, so that nothing can be asked without them. */
const LAST = ['refused before any recipient', 'not understood']

test('every row, each of its conditions and each value in one decides one of these replies', () => {
  const undecided = RULES.filter(({ name }) => !LAST.includes(name)).flatMap((rule) =>
    changesOf(rule).flatMap(({ without, change }) => {
      const kept = { phases: undefined, ...rule }
      const row = readAs({ subject: rule.subject, row: rule.name })
      try {
        Object.assign(rule, change)
        return isDecided(row) ? [] : [`${row} without ${without}`]
      } finally {
        Object.assign(rule, kept)
      }
    }),
  )
  expect(undecided).toEqual([])
})
