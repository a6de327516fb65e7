import { expect, test } from 'vitest'
import { createShaping } from '../../../mail/smtp/shaping.ts'

const siteOf = (...names: string[]) => ({
  key: names.join(','),
  hosts: names.map((name) => ({ name, preference: 10, addresses: [], port: 25 })),
})

test('a provider has its own limits, by the end of the exchanger name', () => {
  const shapeOf = createShaping([])
  const limitsOf = (mx: string) => shapeOf(siteOf(mx), 'to.test').limits
  const usual = limitsOf('mx.example.com')
  expect(usual).toEqual({ connections: 25, messages: 100 })
  expect(limitsOf('mta5.am0.yahoodns.net').messages).toBe(20)
  expect(limitsOf('smtp-in.orange.fr').connections).toBe(3)
  expect(limitsOf('notorange.fr')).toEqual(usual)
  expect(limitsOf('orange.fr.example.com')).toEqual(usual)
})

test.each([
  ['gmail-smtp-in.l.google.com', 10, 50],
  ['mx.googlemail.com', 10, 50],
  ['shop-test.mail.protection.outlook.com', 10, 50],
  ['shop-test.a-v1.mx.microsoft', 10, 50],
  ['mx01.mail.icloud.com', 10, 5],
  ['eu-smtp-inbound-1.mimecast.com', 10, 100],
  ['mx1.comcast.net', 25, 100],
])('%s takes %i connections and %i messages over each of them', (mx, connections, messages) => {
  expect(createShaping([])(siteOf(mx), 'to.test').limits).toEqual({ connections, messages })
})

test('rows add limits to a provider, and the row with the longest name that fits decides', () => {
  const shapeOf = createShaping([
    { site: 'google.com', perMinute: 6_000 },
    { site: 'l.google.com', connections: 30 },
    { site: 'mx.small.example', connections: 1 },
  ])
  expect(shapeOf(siteOf('smtp.google.com'), 'google.com')).toMatchObject({
    limits: { connections: 10, messages: 50, perMinute: 6_000 },
    provider: 'google.com',
    isOwnSite: false,
  })
  expect(shapeOf(siteOf('aspmx.l.google.com'), 'shop.test').limits).toEqual({ connections: 30, messages: 100 })
  expect(shapeOf(siteOf('mx2.other.example', 'mx.small.example'), 'a.test').limits.connections).toBe(1)
})

test('a row may name a recipient domain, which is then a site of its own', () => {
  const shapeOf = createShaping([{ site: 'shop.test', connections: 2 }])
  const site = siteOf('aspmx.l.google.com')
  expect(shapeOf(site, 'shop.test')).toMatchObject({
    limits: { connections: 2 },
    provider: 'shop.test',
    isOwnSite: true,
  })
  expect(shapeOf(site, 'other.test')).toMatchObject({ provider: 'google.com', isOwnSite: false })
  expect(shapeOf(site, 'sub.shop.test')).toMatchObject({ provider: 'google.com' })
})

test('the same rows give the same limits, so that nothing is opened anew', () => {
  const shapeOf = createShaping([])
  expect(shapeOf(siteOf('a.google.com'), 'x.test').limits).toBe(shapeOf(siteOf('b.google.com'), 'y.test').limits)
})
