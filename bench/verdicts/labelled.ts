import { readFileSync } from 'node:fs'
import type { Reply } from '../../mail/smtp/attempt.ts'
import type { KnownNames } from '../../mail/smtp/plain-text.ts'
import { toReply } from '../../mail/smtp/reply.ts'
import type { ReplyPhase } from '../../mail/smtp/rules/rule.ts'

/** A reply and the verdict that a person gives it. */
export interface LabelledReply {
  source: string
  mx: string
  phase: ReplyPhase
  subject: string
  reason: string
  /** `-` for none. */
  kind: string
  line: string
  reply: Reply
}

/** Who speaks to whom in the labelled sets. */
export const NAMES: KnownNames = {
  recipient: 'ann@example.net',
  ours: ['mail.sender.example', '192.0.2.25', 'sender.example', 'rp.sender.example', 'b.01@rp.sender.example'],
}

/** The sets: of the author of the rules, of the author after the rules, and of a second person. */
export const REPLIES = ['replies.txt', 'held-out-replies.txt', 'public-replies.txt']

const LINE = /^(\w+) (\w+) (\w+) (unknown|status|refused|full|-) (\d{3}.*)$/

export function labelledReplies(file: string): LabelledReply[] {
  let [source, mx] = ['', '']
  return readFileSync(new URL(file, import.meta.url), 'utf8')
    .split('\n')
    .flatMap((text) => {
      const heading = /^\[(.+); (\S+)\]$/.exec(text)
      if (heading) [, source = '', mx = ''] = heading
      if (heading || text === '' || text.startsWith('#')) return []
      const [, phase, subject, reason, kind, line] = LINE.exec(text) ?? []
      if (line === undefined) throw new Error(`${file}: not a labelled reply: ${text}`)
      return [
        {
          source,
          mx,
          phase: phase as ReplyPhase,
          subject: subject!,
          reason: reason!,
          kind: kind!,
          line,
          reply: replyOf(line),
        },
      ]
    })
}

/** As the client reads it: a code that the text repeats begins the next line. */
export function replyOf(line: string): Reply {
  const code = line.slice(0, 3)
  const lines = line.slice(4).split(new RegExp(` (?=${code}[ -])`))
  return toReply({
    code: Number(code),
    lines: lines.map((each) => each.replace(new RegExp(`^${code}[ -]`), '')),
  })
}
