import { expect, test } from 'vitest'
import { mailboxProvider, sitesOfProvider } from '../../server/reputation/mailbox-provider.ts'

test.each([
  ['gmail-smtp-in.l.google.com', 'google'],
  ['ASPMX.L.GOOGLE.COM', 'google'],
  ['aspmx2.googlemail.com', 'google'],
  ['example-com.mail.protection.outlook.com', 'microsoft'],
  ['hotmail-com.olc.protection.outlook.com', 'microsoft'],
  ['example-com.e-v1.mx.microsoft', 'microsoft'],
  ['mta7.am0.yahoodns.net', 'yahoo'],
  ['mx01.mail.icloud.com', 'apple'],
  ['mx.example.co.uk', 'example.co.uk'],
  ['mx1.mail.example.net', 'example.net'],
  ['google.com.example.net', 'example.net'],
  ['localhost', 'localhost'],
  ['', ''],
  [undefined, ''],
])('the provider behind %s is %s', (mx, provider) => {
  expect(mailboxProvider(mx)).toBe(provider)
})

test.each([
  ['microsoft', ['outlook.com', 'hotmail.com', 'mx.microsoft']],
  ['Outlook.com', ['outlook.com', 'hotmail.com', 'mx.microsoft']],
  ['web.de', ['web.de']],
  ['mx.example.co.uk', ['example.co.uk']],
])('the exchangers of %s are at %s', (provider, sites) => {
  expect(sitesOfProvider(provider)).toEqual(sites)
})
