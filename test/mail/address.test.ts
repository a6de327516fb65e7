import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  isSpecialUse,
  matchingForm,
  matchingFormOf,
  parseAddress,
  parseMailbox,
  showMailbox,
} from '../../mail/address.ts'
import { anyCharacter } from '../harness/text.ts'

const label63 = 'a'.repeat(63)
const domain189 = `${label63}.${label63}.${'a'.repeat(61)}`

test.each([
  ['user@example.com', 'user', 'example.com'],
  ['User.Name+tag@Example.COM', 'User.Name+tag', 'example.com'],
  ["!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~", 'example.com'],
  ['"two words"@example.com', '"two words"', 'example.com'],
  ['"a@b"@example.com', '"a@b"', 'example.com'],
  ['"quote\\"d \\\\"@example.com', '"quote\\"d \\\\"', 'example.com'],
  ['"needless"@example.com', 'needless', 'example.com'],
  ['"need\\less"@example.com', 'needless', 'example.com'],
  ['".dots"@example.com', '".dots"', 'example.com'],
  ['""@example.com', '""', 'example.com'],
  ['user@sub.domain.example', 'user', 'sub.domain.example'],
  ['user@1.example', 'user', '1.example'],
  ['user@xn--bcher-kva.example', 'user', 'xn--bcher-kva.example'],
  ['user@bücher.example', 'user', 'xn--bcher-kva.example'],
  ['user@BÜCHER.example', 'user', 'xn--bcher-kva.example'],
  ['user@例え.テスト', 'user', 'xn--r8jz45g.xn--zckzah'],
  ['user@例え。テスト', 'user', 'xn--r8jz45g.xn--zckzah'],
  ['user@faß.example', 'user', 'xn--fa-hia.example'],
  ['üser@example.com', 'üser', 'example.com'],
  ['u\u0308ser@example.com', 'üser', 'example.com'],
  ['"ü"@example.com', 'ü', 'example.com'],
  ['"ü x"@example.com', '"ü x"', 'example.com'],
  ['Ünï.Cödé+x@Example.com', 'Ünï.Cödé+x', 'example.com'],
  ['用户@例子.中国', '用户', 'xn--fsqu00a.xn--fiqs8s'],
  ['राम@example.com', 'राम', 'example.com'],
  ['محمد@example.com', 'محمد', 'example.com'],
  ['😀@example.com', '😀', 'example.com'],
  [`${'ü'.repeat(32)}@example.com`, 'ü'.repeat(32), 'example.com'],
  [`${'a'.repeat(64)}@example.com`, 'a'.repeat(64), 'example.com'],
  [`${'a'.repeat(64)}@${domain189}`, 'a'.repeat(64), domain189],
])('%s is an address', (text, local, domain) => {
  expect(parseAddress(text)).toEqual({ local, domain, address: `${local}@${domain}` })
})

test.each([
  '',
  '@',
  'user',
  'user@',
  '@example.com',
  'user@example',
  'user@localhost',
  'user@example.com.',
  'user@.example.com',
  'user@example..com',
  'user@-example.com',
  'user@example-.com',
  'user@exa_mple.com',
  'user@exam ple.com',
  'user@example.com ',
  ' user@example.com',
  'user name@example.com',
  '.user@example.com',
  'user.@example.com',
  'us..er@example.com',
  'us"er@example.com',
  '"user@example.com',
  '"us"er"@example.com',
  '"user\\"@example.com',
  'user@[192.0.2.1]',
  'user@[IPv6:2001:db8::1]',
  'user@192.0.2.1',
  'user@１９２.0.2.1',
  'user@example.123',
  'a@b@example.com',
  'a@example.com,b@example.com',
  'a@example.com, b@example.com',
  'Group: a@example.com;',
  'User <user@example.com>',
  '<user@example.com>',
  'user(comment)@example.com',
  'user@example.com(comment)',
  // Letters that are not seen, that reorder what follows, or that no Unicode has yet.
  'us\u200ber@example.com',
  'us\u00ader@example.com',
  'us\u202eer@example.com',
  'us\u2066er@example.com',
  'us\u200der@example.com',
  'us\ufe0fer@example.com',
  'us\u{e0041}er@example.com',
  'us\u0085er@example.com',
  'us\u2028er@example.com',
  'us\u3000er@example.com',
  'us\ufffder@example.com',
  'us\u0378er@example.com',
  'us\ue000er@example.com',
  'us\ud800er@example.com',
  // Marks without a letter, and other forms of syntax.
  '\u0338user@example.com',
  '"\u0338"@example.com',
  'ü.\u0301@example.com',
  'ü＠other.example@example.com',
  'ü．x@example.com',
  'ü＜x@example.com',
  'ü..x@example.com',
  'ü x@example.com',
  'ü,x@example.com',
  '"ü\\ü"@example.com',
  `${'ü'.repeat(33)}@example.com`,
  `${'ü'.repeat(32)}@${domain189}a`,
  'user@ex%61mple.com',
  'user@bücher%2eexample',
  'user@bücher.example/x',
  'user@bücher.example／x',
  'user@bücher.example:25',
  'user@bücher.example：25',
  'user@bücher.example?x',
  'user@bü\u00adcher.example',
  'user@bü\u200bcher.example',
  'user@bü\u202echer.example',
  'user@bücher\u3000.example',
  'user@bücher..example',
  'user@bücher.example.',
  'user@bücher.12',
  'user@\u0301bc.example',
  'user@²²².²²²',
  'user@ex\ud800mple.com',
  '\udc00user@example.com',
  'us\0er@example.com',
  'user@exam\0ple.com',
  'user@example.com\r\nRCPT TO:<x@example.com>',
  'user\r\n@example.com',
  '"us\r\ner"@example.com',
  '"us\ner"@example.com',
  '"us\ter"@example.com',
  'us\x7fer@example.com',
  '"us\x7fer"@example.com',
  'user@example.com\n',
  `${'a'.repeat(65)}@example.com`,
  `${'a'.repeat(64)}@${domain189}a`,
  `user@${label63}a.com`,
  `user@${'ü'.repeat(63)}.com`,
  `user@${'a.'.repeat(200)}com`,
  `${'a'.repeat(100_000)}@example.com`,
  `user@${'ü.'.repeat(100_000)}com`,
])('%j is not an address', (text) => {
  expect(parseAddress(text)).toBeUndefined()
})

test('an address that was accepted is printable within the limits and means itself when it is parsed again', () => {
  const texts = fc.oneof(
    fc.emailAddress(),
    fc.string({ unit: anyCharacter }).map((text) => `${text}@example.com`),
    fc.string({ unit: anyCharacter }).map((text) => `user@${text}.com`),
    fc.string({ unit: 'binary-ascii', maxLength: 30 }).map((text) => `"${text}"@example.com`),
    fc
      .array(fc.constantFrom('a', 'B', '1', '.', '-', '@', '"', '\\', ' ', '%41', 'ü', '。', '\u200d', '\r\n', '<'), {
        maxLength: 12,
      })
      .map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const parsed = parseAddress(text)
      if (parsed === undefined) return
      expect(parsed.address).not.toMatch(/[\p{C}\u007f]/u)
      expect(Buffer.byteLength(parsed.address)).toBeLessThanOrEqual(254)
      expect(parsed.domain).toMatch(/^[a-z0-9.-]+$/)
      expect(parsed.address).toBe(parsed.address.normalize('NFC'))
      expect(parsed.address).toBe(`${parsed.local}@${parsed.domain}`)
      expect(parsed.domain).toMatch(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]*[a-z-][a-z0-9-]*$/)
      expect(parseAddress(parsed.address)).toEqual(parsed)
    }),
    { numRuns: 3_000 },
  )
})

test.each([
  ['user@example.com', undefined, 'user@example.com'],
  ['<user@example.com>', undefined, 'user@example.com'],
  ['"" <user@example.com>', undefined, 'user@example.com'],
  ['Jane <jane@example.com>', 'Jane', 'jane@example.com'],
  ['Jane<jane@example.com>', 'Jane', 'jane@example.com'],
  ['Jane Q. Public <jane@example.com>', 'Jane Q. Public', 'jane@example.com'],
  ['"Public, Jane (Acme); <x@y.example>" <jane@example.com>', 'Public, Jane (Acme); <x@y.example>', 'jane@example.com'],
  ['"say \\"hi\\" \\\\o/" <jane@example.com>', 'say "hi" \\o/', 'jane@example.com'],
  ['Jürgen Groß <j@bücher.example>', 'Jürgen Groß', 'j@xn--bcher-kva.example'],
  ['"👩‍💻, 日本" <j@example.com>', '👩‍💻, 日本', 'j@example.com'],
  ['"Jane" Public <jane@example.com>', 'Jane Public', 'jane@example.com'],
  ['Jane "of, Acme" Public <jane@example.com>', 'Jane of, Acme Public', 'jane@example.com'],
  ['=?utf-8?q?J=C3=A4ne?= "Public, Q." <jane@example.com>', 'Jäne Public, Q.', 'jane@example.com'],
  ['Jane <"a < b"@example.com>', 'Jane', '"a < b"@example.com'],
  ['=?utf-8?q?a?= <a@example.com>', 'a', 'a@example.com'],
])('%s is a mailbox', (text, name, address) => {
  const mailbox = parseMailbox(text)
  expect(mailbox?.address).toBe(address)
  expect(mailbox?.name).toBe(name)
})

test.each([
  '',
  'Jane',
  'Jane <>',
  'Jane <jane@example.com',
  'Jane jane@example.com>',
  'Jane <jane@example.com> (home)',
  'Jane (home) <jane@example.com>',
  'Jane <jane@example.com>, Bob <bob@example.com>',
  'Public, Jane <jane@example.com>',
  'Group: Jane <jane@example.com>;',
  'jane@example.com <jane@example.com>',
  'Jane <<jane@example.com>>',
  '"Jane <jane@example.com>',
  'Jane" <jane@example.com>',
  '"Jane" "Public <jane@example.com>',
  '"Jane", Public <jane@example.com>',
  'Jane <us\u202eer@example.com>',
  'Jane <jane@localhost>',
  'Jane\r\nBcc: x@example.com <jane@example.com>',
  '"Jane\nX" <jane@example.com>',
  'Jane\0 <jane@example.com>',
  'Jane\t<jane@example.com>',
  'Jane\u0085 <jane@example.com>',
  'Jane \ud83d <jane@example.com>',
  '=?utf-8?q?Jane=0A?= <jane@example.com>',
  '=?utf-8?q?=0D=0AJane?= <jane@example.com>',
  `${'x'.repeat(999)} <jane@example.com>`,
])('%j is not a mailbox', (text) => {
  expect(parseMailbox(text)).toBeUndefined()
})

test.each([
  ['jane@EXAMPLE.com', 'jane@example.com'],
  ['<jane@example.com>', 'jane@example.com'],
  ['  Jane  <jane@example.com>', 'Jane <jane@example.com>'],
  ['"Jane" <jane@example.com>', 'Jane <jane@example.com>'],
  ['"Doe, Jane" <jane@bücher.example>', '"Doe, Jane" <jane@xn--bcher-kva.example>'],
  ['"Jane \\"J\\" \\\\" <jane@example.com>', '"Jane \\"J\\" \\\\" <jane@example.com>'],
])('%j is shown as %j', (text, shown) => {
  expect(showMailbox(parseMailbox(text)!)).toBe(shown)
})

test('a display name is words, encoded words and quoted strings in any order', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'Z', '9', 'ü', '語', '@', ',', '(', '"', '\\', '.', "'"),
    minLength: 1,
  })
  const encoded = text.map((text) => ({ text, written: `=?utf-8?b?${Buffer.from(text).toString('base64')}?=` }))
  const quoted = text.map((text) => ({ text, written: `"${text.replace(/["\\]/g, '\\$&')}"` }))
  const word = fc.constantFrom('Ann', "O'Neil", 'Jr.', 'ü', '-').map((text) => ({ text, written: text }))
  const parts = fc.array(fc.oneof(encoded, quoted, word), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(parts, (parts) => {
      const isEncoded = (i: number) => parts[i]?.written.startsWith('=?')
      // A reader removes the blank between two encoded words (RFC 2047 6.2).
      const name = parts
        .map(({ text }, i) => (i === 0 || (isEncoded(i - 1) && isEncoded(i)) ? text : ` ${text}`))
        .join('')
      const written = parts.map(({ written }) => written).join(' ')
      expect(parseMailbox(`${written} <ann@example.com>`)).toMatchObject({ name, address: 'ann@example.com' })
    }),
  )
})

test('a mailbox that is shown is read back as the same mailbox', () => {
  const name = fc.array(
    fc.oneof(fc.constantFrom('"', '\\', '<', '>', '@', ',', ' ', 'a', 'ü'), fc.string({ unit: 'grapheme' })),
  )
  fc.assert(
    fc.property(name, (parts) => {
      const quoted = parts.join('').replace(/["\\]/g, '\\$&')
      const mailbox = parseMailbox(`"${quoted}" <"two words"@example.com>`)
      if (mailbox) expect(parseMailbox(showMailbox(mailbox))).toEqual(mailbox)
    }),
  )
})

test('spellings of one mailbox have one matching form', () => {
  const forms = ['Jane.Doe@Bücher.example', '"jane.doe"@XN--BCHER-KVA.example', 'JANE.DOE@bücher.example'].map((text) =>
    matchingForm(parseAddress(text)!),
  )
  expect(new Set(forms)).toEqual(new Set(['jane.doe@xn--bcher-kva.example']))
})

test('only the letters of ASCII match in either case', () => {
  expect(matchingFormOf('ÜSER.Ann@Bücher.example')).toBe('Üser.ann@xn--bcher-kva.example')
  expect(matchingFormOf('İI@example.com')).toBe('İi@example.com')
  expect(matchingFormOf('\u212aate@example.com')).toBe('kate@example.com')
})

test('a special-use top-level domain is known, and no other', () => {
  for (const domain of [
    'x.test',
    'a.b.example',
    'x.invalid',
    'x.localhost',
    'x.local',
    'x.onion',
    'x.alt',
    'x.internal',
    'home.arpa',
  ])
    expect(isSpecialUse(domain), domain).toBe(true)
  for (const domain of ['example.com', 'test.com', 'x.tests', 'localhost.de', 'xtest.org'])
    expect(isSpecialUse(domain), domain).toBe(false)
})
