import fc from 'fast-check'
import { parsePolicy as theirParse, validateMx } from 'mailauth/lib/mta-sts.js'
import { expect, test } from 'vitest'
import { type Policy, parsePolicy, permits, policyIdOf } from '../../../mail/smtp/mta-sts.ts'
import { cpuStopwatch } from '../../harness/stopwatch.ts'

test.each<[string, string[], string | undefined]>([
  ['the record of the RFC', ['v=STSv1; id=20160831085700Z;'], '20160831085700Z'],
  ['no final semicolon', ['v=STSv1;id=1'], '1'],
  ['white space around the semicolons', ['v=STSv1 ;\tid=1 ; '], '1'],
  ['an id of 32 characters', [`v=STSv1; id=${'a'.repeat(32)}`], 'a'.repeat(32)],
  ['unknown fields', ['v=STSv1; x=y; id=1; more.of-it=!'], '1'],
  ['two ids: the first', ['v=STSv1; id=1; id=2'], '1'],
  ['other records beside it', ['v=spf1 -all', 'v=STSv1; id=1', 'v=STSv2; id=2', 'V=STSv1; id=3'], '1'],
  ['no record', [], undefined],
  ['only other records', ['v=spf1 -all', 'v=STSv10; id=1', ' v=STSv1; id=1', 'v=STSv1'], undefined],
  ['two of them, even if they are the same', ['v=STSv1; id=1', 'v=STSv1; id=1'], undefined],
  ['two of them, one of which is broken', ['v=STSv1; id=1', 'v=STSv1; what'], undefined],
  ['no id', ['v=STSv1;'], undefined],
  ['an id of 33 characters', [`v=STSv1; id=${'a'.repeat(33)}`], undefined],
  ['an empty id', ['v=STSv1; id='], undefined],
  ['an id with other characters', ['v=STSv1; id=2016-08-31'], undefined],
  ['an id in another case', ['v=STSv1; ID=1'], undefined],
  ['an id behind other letters', ['v=STSv1; xid=1', 'id=1'], undefined],
  ['an empty field', ['v=STSv1; ; id=1'], undefined],
  ['a text that is no field', ['v=STSv1; id=1; hello'], undefined],
  ['a thousand records', Array.from({ length: 1_000 }, (_, i) => `v=STSv1; id=${i}`), undefined],
])('the id in TXT records: %s', (_, records, id) => {
  expect(policyIdOf(records)).toBe(id)
})

const ENFORCE = 'version: STSv1\nmode: enforce\nmx: mail.example.com\nmax_age: 604800\n'
const ENFORCED: Policy = { mode: 'enforce', mx: ['mail.example.com'], maxAgeS: 604_800 }

test.each<[string, string, Policy | undefined]>([
  [
    'the example of the RFC',
    'version: STSv1\r\nmode: enforce\r\nmx: mail.example.com\r\nmx: *.example.net\r\nmx: backupmx.example.com\r\nmax_age: 604800\r\n',
    { mode: 'enforce', mx: ['mail.example.com', '*.example.net', 'backupmx.example.com'], maxAgeS: 604_800 },
  ],
  ['lines that end with LF', ENFORCE, ENFORCED],
  ['no end of the last line', ENFORCE.trimEnd(), ENFORCED],
  ['another order', 'max_age:604800\nmx:\tmail.example.com \nmode:enforce\nversion:STSv1', ENFORCED],
  ['unknown fields and lines', `\n${ENFORCE}extension: a: b\nwhat\n:\n\n`, ENFORCED],
  ['fields given twice: the first', `${ENFORCE}version: STSv2\nmode: none\nmax_age: 1\n`, ENFORCED],
  ['capitals in a name, and the name again', `${ENFORCE}mx: MAIL.Example.com\n`, ENFORCED],
  [
    'an exchanger that is no name',
    `${ENFORCE}mx: mail.*.com\nmx: *\nmx: *.\nmx: a..b\nmx: -\nmx: ü.example\nmx:\n`,
    ENFORCED,
  ],
  ['testing', ENFORCE.replace('enforce', 'testing'), { ...ENFORCED, mode: 'testing' }],
  ['none, which needs no exchanger', 'version: STSv1\nmode: none\nmax_age: 0', { mode: 'none', mx: [], maxAgeS: 0 }],
  ['more than a year', ENFORCE.replace('604800', '9999999999'), { ...ENFORCED, maxAgeS: 31_557_600 }],
  ['nothing', '', undefined],
  ['a page', '<!doctype html>\n<title>mode: enforce</title>', undefined],
  ['no version', ENFORCE.replace('version: STSv1\n', ''), undefined],
  ['another version', ENFORCE.replace('STSv1', 'STSv2'), undefined],
  ['another version first', `version: STSv2\n${ENFORCE}`, undefined],
  ['no mode', ENFORCE.replace('mode: enforce\n', ''), undefined],
  ['an unknown mode', ENFORCE.replace('enforce', 'Enforce'), undefined],
  ['no exchanger', ENFORCE.replace('mx: mail.example.com\n', ''), undefined],
  ['only a text that is no exchanger', ENFORCE.replace('mail.example.com', 'mail example'), undefined],
  ['no age', ENFORCE.replace('max_age: 604800', ''), undefined],
  ['an age below zero', ENFORCE.replace('604800', '-1'), undefined],
  ['an age that is no number', ENFORCE.replace('604800', '1e9'), undefined],
  ['an age of eleven digits', ENFORCE.replace('604800', '00000604800'), undefined],
  ['lines that end with CR', ENFORCE.replaceAll('\n', '\r'), undefined],
  ['names of fields in another case', ENFORCE.replace('mode', 'Mode'), undefined],
  [
    'more exchangers than we keep',
    `${ENFORCE}${Array.from({ length: 100 }, (_, i) => `mx: m${i}.test\n`).join('')}`,
    undefined,
  ],
])('the text of a policy: %s', (_, text, policy) => {
  expect(parsePolicy(text)).toEqual(policy)
})

test.each([
  ['mail.example.com', true],
  ['mx.example.net', true],
  ['example.net', false],
  ['a.b.example.net', false],
  ['mail.example.com.evil.test', false],
  ['xmail.example.com', false],
  ['*.example.net', true],
  ['net', false],
  ['com', false],
  ['', false],
])('an exchanger named %j: %s', (name, expected) => {
  expect(permits({ mode: 'enforce', mx: ['mail.example.com', '*.example.net', '*.com.'], maxAgeS: 1 }, name)).toBe(
    expected,
  )
})

const label = fc.constantFrom('a', 'b', 'A')
const goodName = fc.tuple(fc.constantFrom('', '*.'), fc.array(label, { minLength: 1, maxLength: 3 }))
const badName = fc.constantFrom('*', '', '-', 'a..b', 'a.*.b', 'a.', '.a', 'a-', 'a b', '**.a')
const name = fc.oneof({ weight: 9, arbitrary: goodName.map(([star, labels]) => star + labels.join('.')) }, badName)
const line = fc.oneof(
  name.map((value) => `mx: ${value}`),
  fc.constantFrom(
    'version: STSv1',
    'version:STSv2',
    'mode: enforce',
    'mode:\ttesting ',
    'mode: none',
    'max_age: 60',
    'max_age: x',
  ),
  fc.constantFrom('', ':', 'what', 'mx', 'x: y', ' mode: enforce', 'Mode: none'),
)
const NEEDED = ['version: STSv1', 'mode: enforce', 'max_age: 86400', 'mx: a.example']
const text = fc.tuple(
  fc.array(line, { maxLength: 3 }),
  fc.oneof(fc.constant(NEEDED), fc.subarray(NEEDED)),
  fc.array(line, { maxLength: 6 }),
  fc.constantFrom('\n', '\r\n'),
)

test('a text that mailauth, at its strictest, reads as a policy is the same policy here, and names the same exchangers', () => {
  let accepted = 0
  fc.assert(
    fc.property(text, name, ([before, needed, after, end], host) => {
      const policyText = [...before, ...needed, ...after].join(end)
      const theirs = attempt(() => theirParse(policyText, { strict: true }))
      if (!theirs) return
      accepted++
      const ours = parsePolicy(policyText)
      expect(ours).toEqual({ mode: theirs.mode, mx: theirs.mx ?? [], maxAgeS: theirs.maxAge })
      const mx = host.toLowerCase()
      if (/^[a-z]+(\.[a-z]+)*$/.test(mx) && ours!.mode !== 'none') {
        expect(permits(ours!, mx)).toBe(validateMx(mx, theirs).valid)
      }
    }),
    { numRuns: 2_000 },
  )
  expect(accepted).toBeGreaterThan(200)
})

test('no text takes long to parse', () => {
  for (const text of ['mx: a.', ':', 'mx:\n', 'a', ' ', '*.', 'mx: *.a\n'].map((piece) =>
    piece.repeat(65_536 / piece.length),
  )) {
    const watch = cpuStopwatch()
    parsePolicy(text)
    policyIdOf([`v=STSv1;${text}`])
    // A quadratic pattern takes seconds for 64 KB.
    expect(watch.ms()).toBeLessThan(200)
  }
})

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
