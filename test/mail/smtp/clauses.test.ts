import { expect, test } from 'vitest'
import { NAMES } from '../../../bench/verdicts/labelled.ts'
import { decidingSentence } from '../../../mail/smtp/classify.ts'
import { clausesOf } from '../../../mail/smtp/clauses.ts'
import { toReply } from '../../../mail/smtp/reply.ts'
import { leftWords } from '../../../mail/smtp/rules/known-words.ts'

const clauses = (reply: string) => clausesOf(reply, NAMES)
const texts = (reply: string) => clauses(reply).map(({ text }) => text.trim())

test.each([
  ['One. Two; three! four? five', ['one', 'two', 'three', 'four', 'five']],
  ['一。二！三？四', ['一', '二', '三', '四']],
  ['Version 5.1.1 of it... ends', ['version 5.1.1 of it', 'ends']],
  ['User unknown please see our page', ['user unknown', 'please see our page']],
  ['The user you are trying to contact is away', ['the user you are trying to contact is away']],
  ['A user you contact, or can contact, or not contact', ['a user you contact, or can contact, or not contact']],
  ['', []],
  ['...', ['']],
])('the sentences of "%s" are %j', (reply, sentences) => {
  expect(texts(reply)).toEqual(sentences)
})

test.each([
  ['AT&amp;T', 'at&t'],
  ['&#39;&#x5b;ok&#x5D;', 'ok'],
  ['&#31;&#x110000;', '&#31;&#x110000;'],
  ['Recipient returned to sender table', 'recipient table'],
  ['someone@rp.sender.example is known', 'ouraddr is known'],
  ['someone@host.rp.sender.example is known', 'ouraddr is known'],
  ['someone@rp.sender.example.net is known', 'someaddr is known'],
  ['someone@elsewhere.example at mx9.example.org', 'someaddr at somehost'],
])('the plain text of "%s" is "%s"', (reply, text) => {
  expect(texts(reply).join(';').replace(/ +/g, ' ')).toBe(text)
})

test.each([
  ['mailwww.ours.example', 'ourname'],
  ['mywww.rcpt.example', 'rcptdomain'],
  ['joewww.smith@other.example', 'someaddr'],
])('a name is no link because it has `www` in it: %s', (name, word) => {
  const [clause] = clausesOf(`${name} is known`, {
    recipient: 'ann@mywww.rcpt.example',
    ours: ['mailwww.ours.example'],
  })
  expect(clause!.text.trim()).toBe(`${word} is known`)
})

test('an address of ours at the domain of the recipient is ours', () => {
  const [clause] = clausesOf('me@example.net is known', { recipient: 'ann@example.net', ours: ['me@example.net'] })
  expect(clause!.text.trim()).toBe('ouraddr is known')
})

test.each([
  ['用户不存在', []],
  ['用户审查不存在', ['用户审查不存在']],
  ['user of quorble unknown', ['of', 'quorble']],
])('the words of "%s" that no table has are %j', (reply, left) => {
  expect(clauses(reply).flatMap(leftWords)).toEqual(left)
})

test.each([...'<>"()', "'"])('a link ends at %s, and begins anywhere', (end) => {
  expect(texts(`seehttps://x.example/a${end}user unknown`)).toEqual(['see user unknown'])
})

test.each('in on at of by for with from within among the our your a an this'.split(' '))(
  'a sentence does not end with "%s"',
  (word) => {
    expect(texts(`not ${word} contact list`)).toEqual([`not ${word} contact list`])
    expect(texts(`not x${word} contact list`)).toEqual([`not x${word}`, 'contact list'])
  },
)

test('a sentence that only says where help is begins so', () => {
  const help = clauses('User unknown. Contact us. We are away').filter(({ isHelp }) => isHelp)
  expect(help.map(({ text }) => text.trim())).toEqual(['contact us'])
})

test.each([
  ['mx2.example.org said: 550 unknown', true],
  ['mx2.example.org says: unknown', true],
  ['mx2.example.org responded 550 unknown', true],
  ['the response was: unknown', true],
  ['it responds: no', true],
  ['it replied: no', true],
  ['the reply: no', true],
  ['it answered: no', true],
  ['the answer: no', true],
  ['it returned: no', true],
  ['we got : no', true],
  ['mx2.example.org: 550 unknown', true],
  ['callout: no', true],
  ['sender verification: no', true],
  ['callback to mx2: no', true],
  ['it said no', false],
  ['it said:', false],
  ['it said 17 words: no', false],
  ['it said that this, which is more than thirty letters: no', false],
  ['mx2.example.org: 350 unknown', false],
  ['it gave its reply; no: no', false],
  ['the aforesaid: no', false],
  ['the saidest: no', false],
  ['miscallout: no', false],
  // A sentence about the recipient, but not where the recipient is what a callout was for.
  ['recipient rejected, mx2.example.org said: 550 unknown', false],
  ['<ann@example.net>: mx2.example.org said: 550 unknown', false],
  ['undeliverable address: mx2.example.org said: 550 unknown', false],
  ['sender of the user: mx2.example.org said: 550 unknown', true],
  ['sender verify failed for <ann@example.net>: mx2.example.org said: 550 unknown', false],
])('another server is quoted in "%s": %s', (reply, isForeign) => {
  expect(clauses(reply)[0]!.isForeign).toBe(isForeign)
})

test('ids are tokens with a digit, and the local part of the recipient; tokens in brackets are tags', () => {
  const [clause] = clauses('User ann (Qx-yz) [ABC] a17b, plain (two words) unknown')
  expect([...clause!.ids].filter(Boolean).sort()).toEqual(['a17b', 'ann'])
  expect([...clause!.tags].filter(Boolean).sort()).toEqual(['abc', 'qx', 'yz'])
  expect(clausesOf('User unknown')[0]!.ids.has('ann')).toBe(false)
})

test('a clause gives the passage of the reply as it came', () => {
  const reply = 'Sorry. <Ann@Example.net>: User&nbsp;UNKNOWN, see http://x.example/y. Bye'
  const [, clause] = clauses(reply)
  expect(clause!.original(0, clause!.text.length)).toContain('<Ann@Example.net>: User&nbsp;UNKNOWN')
})

const deciding = (line: string) =>
  decidingSentence({
    phase: 'rcpt',
    reply: toReply({ code: 550, lines: [line] }),
    mx: 'mx.example.net',
    names: NAMES,
  })

test.each([
  // Help decides only where nothing else does, and never against the recipient.
  ['5.7.1 No. Please visit our spam policy', 'Please visit our spam policy'],
  ['5.1.1 User unknown. Please visit our spam policy', 'User unknown'],
  ['5.7.1 Sorry. Please contact a user who does not exist', undefined],
  // What another server says decides about the sender, and not about the mailbox.
  ['5.1.1 mx2.example.org said: 550 your host is blocked', 'mx2.example.org said: 550 your host is blocked'],
  ['5.7.1 mx2.example.org said: 550 user unknown', undefined],
  ['5.7.1 mx2.example.org said: 552 mailbox full', undefined],
])('the sentence that decides "%s" is %s', (line, sentence) => {
  const found = deciding(line)
  if (sentence === undefined) expect(found ?? '').not.toMatch(/user|full/)
  else expect(found).toBe(sentence)
})

test.each([
  ['550 550 5.1.1 5.1.1 User unknown', 'User unknown', '5.1.1'],
  ['550-User unknown', 'User unknown', undefined],
  ['550', '', undefined],
  ['5501 users', '5501 users', undefined],
  ['550-', '', undefined],
  ['551 elsewhere', '551 elsewhere', undefined],
])('the text of the line "%s" is "%s"', (line, text, enhanced) => {
  expect(toReply({ code: 550, lines: [line] })).toEqual({
    code: 550,
    text,
    ...(enhanced && { enhanced }),
  })
})
