import { createRouterTransport } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { previewOf } from '../../cli/import-preview.ts'
import { type PartialPreview, previewLines } from '../../dashboard/suppressions/import-preview.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { matchingFormOf } from '../../mail/address.ts'

const SUPPRESSED = 'known@x.test'
const PART = 10_000

/** Counts the addresses of one request as the service does. */
function dryRun(emails: readonly string[]) {
  const forms = emails.map(matchingFormOf)
  const distinct = new Set(forms.filter((form) => form !== undefined))
  const added = [...distinct].filter((form) => form !== SUPPRESSED)
  const errors = emails.flatMap((email, index) =>
    forms[index] === undefined ? [{ index, email, error: 'invalid_address' }] : [],
  )
  const known = [...distinct].filter((form) => form === SUPPRESSED)
  return {
    imported: added.length,
    alreadySuppressed: emails.length - errors.length - added.length,
    ...{ invalid: errors.length, total: emails.length, errors },
    preview: { added: added.slice(0, 10), known },
  }
}

const transport = createRouterTransport(({ service }) =>
  service(SuppressionService, { import: ({ emails }) => dryRun(emails) }),
)

/** What the dashboard shows after each part. */
async function shown(emails: string[]): Promise<PartialPreview[]> {
  const previews: PartialPreview[] = []
  const { signal } = new AbortController()
  for await (const preview of previewLines(transport, { emails, tenantId: undefined }, signal)) previews.push(preview)
  return previews
}

/** What the command line prints. */
function printed(emails: string[]) {
  const lines = emails.map((email, i) => ({ line: i + 1, email })).filter(({ email }) => email !== '')
  const parts = Array.from({ length: Math.ceil(lines.length / PART) }, (_, i) => lines.slice(i * PART, (i + 1) * PART))
  return previewOf(parts, async (part) => {
    const { alreadySuppressed: already_suppressed, ...response } = dryRun(part.map(({ email }) => email))
    return { ...response, already_suppressed }
  })
}

const FIRST = ['known@x.test', 'nonsense', 'ann@x.test', 'emil@bücher.test', 'ANN@x.test']
const filled = [...FIRST, ...Array.from({ length: PART - FIRST.length }, (_, i) => `${i}@x.test`)]

test.each([
  [
    'an address of an earlier part, in any spelling',
    ['Known@X.test', 'emil@xn--bcher-kva.test', 'EMIL@BÜCHER.test'],
    [],
  ],
  ['a text that is no address, also when it is repeated', [], ['nonsense', 'ann@x.test/', 'emil@bü\u00adcher.test']],
])('both previews know %s', async (_, known, invalid) => {
  const emails = [...filled, ...known, ...invalid, 'new@x.test']
  const { firstAdded, firstKnown, firstInvalid, linesDone, ...counts } = (await shown(emails)).at(-1)!
  expect(counts).toEqual({
    added: PART - 3 + 1,
    known: 2 + known.length,
    invalid: 1 + invalid.length,
    total: emails.length,
  })
  expect(firstAdded.slice(0, 3)).toEqual(['ann@x.test', 'emil@xn--bcher-kva.test', '0@x.test'])
  expect(firstKnown).toEqual(['known@x.test', ...known])
  const lineOf = (email: string) => emails.lastIndexOf(email) + 1
  expect(firstInvalid.slice(1)).toEqual(
    invalid.map((email) => ({ line: lineOf(email), email, error: 'invalid_address' })),
  )
  expect(linesDone).toBe(emails.length)
  const { added, ...others } = counts
  expect(await printed(emails)).toEqual({
    ...{ new: added, ...others },
    ...{ first_new: firstAdded, first_known: firstKnown, first_invalid: firstInvalid },
  })
})

test('the dashboard counts the lines that it skips as done', async () => {
  const blank = Array.from({ length: PART }, () => '')
  const previews = await shown([...blank, ' a@x.test ', ''])
  expect(previews.map(({ linesDone, added, total }) => ({ linesDone, added, total }))).toEqual([
    { linesDone: PART, added: 0, total: 0 },
    { linesDone: PART + 2, added: 1, total: 1 },
  ])
})

test('the preview of a file without addresses is empty', async () => {
  expect(await printed([])).toMatchObject({ new: 0, known: 0, invalid: 0, total: 0, first_new: [] })
})
