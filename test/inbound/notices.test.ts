import { expect, test } from 'vitest'
import { readReport } from '../../server/inbound/report.ts'

// What a mail system says of a delivery that is not over, or that succeeded, and who is a mail system.

/** A notice that quotes a refusal: it is a bounce unless something else in it says otherwise. */
const notice = ({ from = 'MAILER-DAEMON@mx.example.net', subject = 'Mail delivery', text = '', header = '' }) =>
  readReport(
    Buffer.from(
      `From: ${from}\nSubject: ${subject}\n${header}\n${text}\n\n<ann@example.net>: 550 5.1.1 User unknown\n`,
    ),
  )

test('a notice that quotes a refusal is a bounce', async () => {
  expect(await notice({})).toMatchObject({ kind: 'bounce', failures: [{ reason: 'mailbox_does_not_exist' }] })
})

test.each([
  'Delayed mail',
  'Your message is delayed',
  'There is a delay with your message',
  'WARNING: could not send message for past 4 hours',
  'Warning: message still undelivered after 4 hours',
  'It will be retried until it is three days old',
  'We will keep trying for two days',
  'The server will continue to try',
  'The server will continue to attempt it',
  'It is still being retried',
  'It is still retried',
  'The server is still trying',
  'You do not need to resend the message',
  'You do not need to do anything',
  'No action is required on your part',
  'THIS IS A WARNING MESSAGE ONLY',
  'The message has not yet been delivered',
  'Your message has not been delivered yet',
  'Delivery attempts will continue to be made',
  'Die Zustellung ist verzögert',
  'Die Zustellung wird weiter versucht',
  'Votre message est retardé',
  'La entrega tiene un retraso',
  'La consegna è in ritardo',
  'Uw bericht is vertraagd',
  'Wiadomość jest opóźniona',
  'Zpráva je zpožděna',
  'Leveransen är försenad',
  'Leveringen er forsinket',
  'Доставка задерживается',
  '配信が遅延しています',
  '邮件投递延迟',
  'We have a temporary problem delivering it',
  'The mail was successfully delivered to the group',
  'It was delivered successfully to the mailbox',
  'The message was successfully relayed',
  'It was successfully sent',
  'Mail was relayed to the next server',
  'The message has been relayed',
  'The mail has been delivered to the recipient',
  'This is a delivery notification of success',
  'Return receipt',
  'This is a read receipt',
  'The message was displayed',
  'The message was read on Monday',
  'Delivery confirmation',
  'Your message was read',
])('a notice that says "%s" is no failure, in its text or its subject', async (text) => {
  expect(await notice({ text })).toMatchObject({ kind: 'none', why: expect.stringContaining('not over') })
  expect(await notice({ subject: text })).toMatchObject({ kind: 'none' })
  // Only the beginning of a long notice says what it is about.
  expect(await notice({ text: `${'We are sorry. '.repeat(300)}\n${text}` })).toMatchObject({ kind: 'bounce' })
})

test.each([
  'Please confirm that you wrote it',
  'Confirm you are human',
  'Please confirm your message',
  'Verify that you are a person',
  'Please verify your email',
  'Verify your e-mail',
  'Please verify your address',
  'A challenge for you',
  'Whitelist your address here',
])('a notice with the subject "%s" asks the sender, and reports nothing', async (subject) => {
  expect(await notice({ subject })).toMatchObject({ kind: 'none' })
  expect(await notice({ text: subject })).toMatchObject({ kind: 'bounce' })
  // The sender wrote what follows the colon.
  expect(await notice({ subject: `Undeliverable: ${subject}` })).toMatchObject({ kind: 'bounce' })
})

test.each([
  'MAILER-DAEMON@mx.example.net',
  'mailerdaemon@mx.example.net',
  'Mail Delivery System <Mail-Daemon@mx.example.net>',
  'maildaemon@mx.example.net',
  'postmaster@example.net',
  'Post-Master@example.net',
  'MDaemon@example.net',
  'mail-system@example.net',
  'mailsystem@example.net',
  'mail_system@example.net',
  'MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@example.net',
  'Mail Delivery <>',
  '<>',
])('%s is a mail system', async (from) => {
  expect(await notice({ from })).toMatchObject({ kind: 'bounce' })
})

test.each([
  'no-reply@example.net',
  'ann@example.net',
  'not-mailer-daemon@example.net',
  'postmaster.ann@example.net',
  'mdaemon2@example.net',
  'MicrosoftExchange is ours <ann@example.net>',
])('%s is none, unless a field names the recipients that failed', async (from) => {
  expect(await notice({ from })).toMatchObject({ kind: 'none', why: expect.stringContaining('no mail system') })
  const header = 'X-Failed-Recipients: ann@example.net\n'
  expect(await notice({ from, header })).toMatchObject({ kind: 'bounce' })
})

test.each(['auto-replied', 'auto-generated', 'Auto-Replied (vacation)'])(
  'a mail that is %s is none, whoever it comes from',
  async (how) => {
    expect(await notice({ header: `Auto-Submitted: ${how}\n` })).toMatchObject({ kind: 'none' })
  },
)
