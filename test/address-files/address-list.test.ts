import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readAddressList } from '../../address-files/address-list.ts'
import { AddressFileFault } from '../../address-files/table.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const textsIn = (text: string, column?: string) =>
  readAddressList(bytesOf(text), { column }).addresses.map(({ email }) => email)

test('a line break within quotes begins no record: the text after it is no address of the list', () => {
  const file = 'email,note\nann@a.test,"called:\nboss@b.test said no"\ncy@c.test,\n'
  expect(readAddressList(bytesOf(file))).toMatchObject({
    addresses: [
      { line: 2, email: 'ann@a.test' },
      { line: 4, email: 'cy@c.test' },
    ],
    lines: 4,
    hasHeader: true,
  })
})

test.each([
  ['status,reason,email,created\n5.1.1,"550 no user post@x.test",ann@a.test,1700000000\n', ['ann@a.test']],
  ['id,email,origin\n1,ann@a.test,bounce\n2,bob@b.test,complaint\n', ['ann@a.test', 'bob@b.test']],
  ['Recipient;Type\nann@a.test;HardBounce\n', ['ann@a.test']],
  ['address\tcode\nann@a.test\t550\n', ['ann@a.test']],
  ['E-Mail-Adresse,Name\nann@a.test,"Lee, Ann ""A"""\n', ['ann@a.test']],
  ['email_sent_at,email\n2026-01-01,ann@a.test\n', ['ann@a.test']],
  ['7,ann@a.test\n8,bob@b.test\n', ['ann@a.test', 'bob@b.test']],
  ['ann@a.test\r\n\r\nbob@b.test', ['ann@a.test', 'bob@b.test']],
  ['"a,b"@c.test\n"ann@a.test"\n', ['"a,b"@c.test', 'ann@a.test']],
  ['name,email\nAnn,\nBob,bob@b.test\n', ['no address: Ann,', 'bob@b.test']],
  ['nonsense\n', ['nonsense']],
])('the column of addresses of %j is found', (file, addresses) => expect(textsIn(file)).toEqual(addresses))

test('a column is named, or counted from 1', () => {
  const file = 'sender,recipient\nshop@s.test,ann@a.test\n'
  expect(textsIn(file, 'SENDER')).toEqual(['shop@s.test'])
  expect(textsIn(file, '2')).toEqual(['ann@a.test'])
  expect(() => textsIn(file, 'nope')).toThrow('The file has no column "nope". Its columns: sender, recipient')
  expect(() => textsIn(file, '3')).toThrow(AddressFileFault)
})

test.each([
  [{ SuppressedDestinationSummaries: [{ EmailAddress: 'ann@a.test', Reason: 'BOUNCE' }] }],
  [{ Suppressions: [{ EmailAddress: 'ann@a.test', SuppressionReason: 'HardBounce' }] }],
  [{ items: [{ address: 'ann@a.test', code: '550' }], paging: {} }],
  [{ data: [{ id: '1', email: 'ann@a.test', origin: 'bounce' }] }],
  [[{ created: 1, email: 'ann@a.test', reason: '550 x@y.test' }]],
  [['ann@a.test']],
  [[{ data: [] }, { data: [{ email: 'ann@a.test' }] }]],
])('the JSON %j has one address', (json) => {
  expect(textsIn(JSON.stringify(json))).toEqual(['ann@a.test'])
  expect(textsIn(JSON.stringify(json, null, 2))).toEqual(['ann@a.test'])
})

test('JSON may have one page in each line, and an entry without an address is counted', () => {
  const pages = [{ data: [{ email: 'ann@a.test' }] }, { data: [{ id: 1 }] }]
  const file = pages.map((page) => JSON.stringify(page)).join('\n')
  expect(textsIn(file)).toEqual(['ann@a.test', 'no address: ,1'])
  expect(() => textsIn('{"data": [')).toThrow('line 1 is not JSON')
})

test('UTF-16 and UTF-8 are read by their byte order mark', () => {
  const text = 'Name,E-Mail\nJürgen,ann@a.test\n'
  const little = Buffer.from(`\uFEFF${text}`, 'utf16le')
  for (const bytes of [little, Buffer.from(little).swap16(), Buffer.from(`\uFEFF${text}`)])
    expect(readAddressList(bytes).addresses).toEqual([{ line: 2, email: 'ann@a.test' }])
})

test('whatever a row holds, it is one text that the service reads, and the rows around it are read', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '@', '.', '\0', '\ud800', '\udc00', '😀'), maxLength: 400 })
  fc.assert(
    fc.property(text, fc.boolean(), (strange, isJson) => {
      const rows = ['ann@a.test', `x${strange}`, 'bob@b.test']
      const found = textsIn(isJson ? JSON.stringify(rows) : `email\n${rows.join('\n')}\n`)
      expect([found[0], found.at(-1), found.length]).toEqual(['ann@a.test', 'bob@b.test', 3])
      expect(found[1]!.isWellFormed() && !found[1]!.includes('\0') && found[1]!.length <= 320).toBe(true)
    }),
  )
})

test.each([
  ['a workbook', 'PK\u0003\u0004\u0014\0\0ann@a.test\n'],
  ['UTF-16 without its mark', 'e\0m\0a\0i\0l\0\n\0a\0@\0b\0'],
])('%s is refused as no text', (_, file) => {
  expect(() => textsIn(file)).toThrow(new AddressFileFault('The file is not text. Save it as CSV in UTF-8.'))
})

test('a quote that never ends is a fault of the file', () => {
  expect(() => textsIn('email\n"ann@a.test\nbob@b.test\n')).toThrow(AddressFileFault)
})

test('any bytes are read or refused, and lines count up within the file', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: fc.constantFrom(...'a@,;"\n\r\t[{:} x') }), fc.string()), (text) => {
      try {
        const { addresses, lines } = readAddressList(bytesOf(text))
        const numbers = addresses.map(({ line }) => line)
        expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
        expect(Math.max(1, ...numbers)).toBeLessThanOrEqual(lines)
      } catch (error) {
        expect(error).toBeInstanceOf(AddressFileFault)
      }
    }),
    { numRuns: 300 },
  )
})

test('a file of several columns without an address is refused, with its columns to choose from', () => {
  const text = 'name,where\nAnn,nowhere\nBob,\n'
  expect(() => textsIn(text)).toThrow('No column of the file has addresses. Its columns: name, where')
  try {
    textsIn(text)
  } catch (error) {
    expect((error as AddressFileFault).columns).toEqual(['name', 'where'])
  }
  expect(textsIn(text, '2')).toEqual(['nowhere', 'no address: Bob,'])
})

test('the columns of a file are returned with the one that was read, and an index chooses another', () => {
  const bytes = bytesOf('from,to\nshop@a.test,ann@a.test\n')
  expect(readAddressList(bytes)).toMatchObject({ columns: ['from', 'to'], column: 1, columnName: 'to' })
  expect(readAddressList(bytes, { column: 0 })).toMatchObject({
    column: 0,
    addresses: [{ line: 2, email: 'shop@a.test' }],
  })
})
