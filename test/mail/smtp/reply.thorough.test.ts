import { expect, test } from 'vitest'
import { type ParsedReply, ReplyParser } from '../../../mail/smtp/reply.ts'

function parse(text: string | Buffer, size = Number.POSITIVE_INFINITY): ParsedReply[] {
  const parser = new ReplyParser()
  const bytes = Buffer.from(text)
  const parsed: ParsedReply[] = []
  for (let i = 0; i < bytes.length; i += size) parsed.push(...parser.push(bytes.subarray(i, i + size)))
  return parsed
}

test.each([
  ['a line that never ends', `250 ${'x'.repeat(70_000)}`],
  ['a long line', `250 ${'x'.repeat(70_000)}\r\n`],
])('%s is malformed', (_, text) => {
  for (const size of [1, 7, 100_000])
    expect(parse(text, size)).toEqual([{ kind: 'malformed', detail: expect.any(String) }])
})
