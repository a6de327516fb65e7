import { expect, test } from 'vitest'
import { beforeReply, isBeforeRecipient, isOfOther, mayBeExample } from '../../server/inbound/quoted-reply.ts'

test.each([
  ['mx.example.net said: 550 User unknown', 'mx.example.net said: '],
  ['550 User unknown', ''],
  ['It weighs 550 grams', 'It weighs 550 grams'],
])('before the reply in "%s" is "%s"', (line, before) => {
  expect(beforeReply(line)).toBe(before)
})

test.each([
  ['did not like our MAIL FROM:', true],
  ['MAIL From:<b@rp.example.test>', true],
  ['sent mail from: <b@rp.example.test>', true],
  ['for MAIL FROM command, host: mx.example.net', true],
  ['in reply to MAIL command', true],
  ['sent: EHLO mail.example.net', true],
  ['sent: HELO mail.example.net', true],
  ['after LHLO mail.example.net', true],
  ['STARTTLS', true],
  ['for AUTH LOGIN', true],
  ['after initial connection', true],
  ['SMTP error in greeting', true],
  ['but greeting failed', true],
  ['but my name was rejected', true],
  ['but sender was rejected', true],
  ['refused to talk to me', true],
  ['Sender rejected by the next hop', true],
  ['did not like our RCPT TO:', false],
  ['does not like recipient', false],
  ['after end of data', false],
  ['failed on data command', false],
  ['MAIL FROM:<b@rp.example.test> DATA', false],
  ['MAIL FROM:<b@rp.example.test> RCPT TO:<ann@example.net>', false],
  ['RCPT TO:<bob@example.net> MAIL FROM:<b@rp.example.test>', true],
  ['Your mail from Monday', undefined],
  ['the data of your mail', undefined],
  ['UNDELIVERABLE MAIL', undefined],
])('a reply behind "%s" comes before the recipient: %s', (words, isBefore) => {
  expect(isBeforeRecipient([words, '550 User unknown'])).toBe(isBefore)
  expect(isBeforeRecipient(['said:', `${words}: 550 User unknown`])).toBe(isBefore)
})

test('what the reply itself says of commands is not what it is to', () => {
  expect(isBeforeRecipient(['RCPT TO:<ann@example.net>', '550 MAIL FROM first'])).toBe(false)
  expect(isBeforeRecipient(['MAIL FROM:<b@rp.example.test>', '550 RCPT TO first'])).toBe(true)
  expect(isBeforeRecipient(['550 No (in reply to', 'MAIL FROM command)'])).toBe(true)
  expect(isBeforeRecipient(['550 No (in reply to RCPT TO command)'])).toBe(false)
  expect(isBeforeRecipient(['550 No after pipelined MAIL FROM'])).toBe(true)
})

test.each([
  ['Command died with status 1: "/opt/push". Command output: 550 No', true],
  ['command died', true],
  ['"|/usr/bin/vacation"', true],
  ['|/usr/bin/vacation', true],
  ['a member of the list', true],
  ['forwarding failed', true],
  ['commander output', false],
  ['a remember office', false],
])('"%s" before a reply is no server of the recipient: %s', (words, isOther) => {
  expect(isOfOther([words, 'said: 550 User unknown', 'Goodbye'])).toBe(isOther)
  // What comes behind the reply says nothing of it.
  expect(isOfOther(['said: 550 User unknown', words])).toBe(false)
})

test.each([
  ['ann@example.net\n\n550 User unknown', false],
  ['ann@example.net\n\nTitle: 550 User unknown', true],
  ['ann@example.net\nTitle: 550 User unknown', false],
  ['ann@example.net\n\nTitle: 550 User unknown <ann@example.net>', true],
  ['ann@example.net\n\nThe server said: 550 User unknown', false],
  ['ann@example.net\n\n550 User unknown\n550 Goodbye', false],
  ['ann@example.net\n\n550 User unknown\n552 Mailbox full', true],
  ['ann@example.net\n\n550 User unknown\n\n552 Mailbox full', false],
  ['ann@example.net\n552 Mailbox full\n\n550 User unknown', false],
  ['Title: 550 User unknown', true],
  ['no reply', false],
])('the reply in %j may be an example: %s', (text, isExample) => {
  expect(mayBeExample(text.split('\n'))).toBe(isExample)
})
