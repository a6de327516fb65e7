import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { readAddressFile, skippedWords } from '../../dashboard/suppressions/address-file.ts'

const emailsIn = async (text: string) => (await readAddressFile(new Blob([text]))).emails

test.each([
  ['one address in each line', 'a@x.test\nb@x.test\n', ['a@x.test', 'b@x.test']],
  ['line ends of Windows and no last one', 'a@x.test\r\nb@x.test', ['a@x.test', 'b@x.test']],
  ['a byte order mark', '\uFEFFa@x.test\n', ['a@x.test']],
  ['empty lines, which keep their numbers', 'a@x.test\n\nb@x.test\n', ['a@x.test', '', 'b@x.test']],
  ['a column by its heading', 'name,email\nAnn,a@x.test\n', ['', 'a@x.test']],
  ['a column by its first address', '1,a@x.test\n2,b@x.test\n', ['a@x.test', 'b@x.test']],
  [
    'a line without an address in its cell',
    'name,email\nAnn,\nBob,b@x.test\n\n',
    ['', 'no address: Ann,', 'b@x.test', ''],
  ],
  ['semicolons', 'Email;Name\na@x.test;"Ann; the first"\n', ['', 'a@x.test']],
  ['quotes with separators in them', 'name,email\n"Doe, Ann ""A""",a@x.test\n', ['', 'a@x.test']],
  ['a quoted address', '"a@x.test"\n', ['a@x.test']],
  ['a line that is no address', 'a@x.test\nnonsense\n', ['a@x.test', 'nonsense']],
])('a file may have %s', async (_, text, emails) => {
  expect(await emailsIn(text)).toEqual(emails)
})

test.each([
  ['a@x.test\n', ''],
  ['email\na@x.test\n', '1 line skipped: the header.'],
  ['email\n\na@x.test\n\n', '3 lines skipped: the header and 2 empty or left out.'],
  ['a@x.test\n\nb@x.test\n', '1 line skipped: 1 empty or left out.'],
])('the lines of %j that are skipped are explained: %s', async (text, words) => {
  expect(skippedWords(await readAddressFile(new Blob([text])))).toBe(words)
})

test('a line of 64 KB is cut to what an address may have', async () => {
  const [, long] = await emailsIn(`a@x.test\n${'x'.repeat(65_536)}\n`)
  expect(long).toHaveLength(320)
})

test('the digest is that of the bytes', async () => {
  const { digest } = await readAddressFile(new Blob(['a@x.test\n']))
  expect(digest).toBe(createHash('sha256').update('a@x.test\n').digest('hex'))
})

test('another column of a file is another import', async () => {
  const file = new Blob(['email,to\nshop@x.test,a@x.test\n'])
  const [found, chosen] = await Promise.all([readAddressFile(file), readAddressFile(file, { column: 0 })])
  expect(found.emails).toEqual(['', 'a@x.test'])
  expect(chosen.emails).toEqual(['', 'shop@x.test'])
  expect(chosen.digest).not.toBe(found.digest)
})

test('a list with several addresses in a line has a line for each', async () => {
  expect(await emailsIn('a@x.test; b@x.test\nc@x.test\n')).toEqual(['a@x.test', 'b@x.test', 'c@x.test'])
})

test("addresses of the account's own domains are left out, and each line has its reason", async () => {
  const file = new Blob(['to,type\na@x.test,Bounce\nme@own.test,bounce\nb@sub.own.test,Spam complaint\n'])
  expect(await readAddressFile(file, { reasonColumn: 'type' }, ['own.test'])).toMatchObject({
    emails: ['', 'a@x.test', '', 'b@sub.own.test'],
    lineReasons: ['import', 'bounce', 'import', 'complaint'],
    ownDomains: { 'own.test': 1 },
  })
})
