import { channel } from 'node:diagnostics_channel'
import { afterAll, expect, test } from 'vitest'
import { createUrlGuard } from '../../net/url.ts'
import { createPost } from '../../server/webhooks/post/post.ts'
import { startReceiver } from '../harness/receiver.ts'
import { words } from '../harness/text.ts'
import { untilEnd } from '../harness/until-end.ts'

const urls = createUrlGuard({ allowSubnets: [] })

/** Hosts that no URL may lead to, by category; each entry is the host of an https URL. */
const LITERALS: Record<string, string[]> = {
  loopback: '127.0.0.1 127.255.255.254 127.1 127.0.1 127.0.0.1. [::1] [0:0:0:0:0:0:0:1] [::0001]'.split(' '),
  'loopback in decimal, octal and hex': words(`
    2130706433 017700000001 0x7f000001 0x7f.1 0x7F.0x0.0x0.0x1 0177.0.0.1 0177.0.0.01 127.0x0.0.1 0x7f.0.01 00000177.1
  `),
  'loopback in other digits': words(`
    １２７.０.０.１ ①②⑦.⓪.⓪.① 𝟙𝟚𝟟.𝟘.𝟘.𝟙 127。0。0。1 127．0．0．1 %31%32%37.0.0.1 %EF%BC%9127.1
  `),
  unspecified: ['0', '0.0.0.0', '0x0', '00', '0.0', '[::]', '[0::0]', '0.255.255.255'],
  'private use': words(`
    10.0.0.1 10.255.255.255 10.1 0xa.1 012.0.0.1 167772161 172.16.0.1 172.31.255.255 0xac100001 2886729729 192.168.0.1
    192.168.1.254 192.168.257 0xc0a80001 3232235521 0300.0250.1
  `),
  'link local and cloud metadata': words(`
    169.254.169.254 169.254.0.1 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 [fe80::1] [febf:ffff::1]
    [fd00:ec2::254] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [64:ff9b::a9fe:a9fe]
  `),
  'carrier-grade NAT': ['100.64.0.1', '100.100.100.200', '100.127.255.255', '1681915905', '0x64400001'],
  'protocol assignments': ['192.0.0.1', '192.0.0.170', '192.0.0.192', '[2001:1::1]'],
  documentation: ['192.0.2.1', '198.51.100.7', '203.0.113.9', '0xcb007109', '[2001:db8::1]', '[3fff::1]'],
  benchmark: ['198.18.0.1', '198.19.255.255', '3323068417', '[2001:2::1]'],
  multicast: ['224.0.0.1', '239.255.255.250', '0xe0000001', '[ff02::1]', '[ff0e::1]'],
  'reserved and broadcast': ['240.0.0.1', '255.255.255.255', '4294967295', '0xffffffff', '037777777777'],
  'AS112 and AMT': ['192.31.196.1', '192.52.193.1', '192.175.48.1', '192.88.99.1'],
  'IPv4-mapped': ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:10.0.0.1]', '[::FFFF:8.8.8.8]'],
  'IPv4-compatible': ['[::127.0.0.1]', '[::7f00:1]', '[::10.0.0.1]', '[::8.8.8.8]'],
  'IPv4-translated': ['[::ffff:0:127.0.0.1]', '[::ffff:0:7f00:1]'],
  NAT64: ['[64:ff9b::7f00:1]', '[64:ff9b::10.0.0.1]', '[64:ff9b::8.8.8.8]', '[64:ff9b:1::1]'],
  '6to4': ['[2002:7f00:1::]', '[2002:a00:1::1]', '[2002:c0a8:1::1]', '[2002:808:808::1]'],
  Teredo: ['[2001::1]', '[2001:0:53aa:64c::1]', '[2001:0:7f00:1::]'],
  'unique local': ['[fc00::1]', '[fd12:3456:789a::1]', '[fdff:ffff::1]'],
  'site local': ['[fec0::1]', '[feff::1]'],
  'other IPv6': ['[100::1]', '[5f00::1]', '[4000::1]', '[8000::1]', '[2001:20::1]'],
  'zones and broken literals': '[fe80::1%25lo] [fe80::1%eth0] [::1%25lo] [::1 ::1 [127.0.0.1] [:::1]'.split(' '),
}

/** Hosts that are refused before any look-up. */
const NAMES: Record<string, string[]> = {
  localhost: 'localhost LOCALHOST localhost. a.localhost a.b.LocalHost. ⓛⓞⓒⓐⓛⓗⓞⓢⓣ loc%61lhost ｌocalhost'.split(' '),
  'a name without a dot': ['receiver', 'intranet.', 'db', 'localhost4', 'kubernetes'],
  'a name that is never public': words(`
    metadata.google.internal api.svc.cluster.local printer.local. hooks.test hooks.example x.invalid x.onion
    router.home.arpa x.alt
  `),
  'no host name': [
    '',
    '.',
    '..',
    'a..com',
    'hooks.example.com..',
    '-a.com',
    'a-.com',
    'a*b.com',
    "a'b.com",
    'a&b.com',
    '%00.com',
  ],
  'no host name either': [
    '1.2.3.4.5',
    '256.256.256.256',
    '127.0.0.1.1',
    '0x100000000',
    'a.b.1',
    'x.0x7f',
    `${'a'.repeat(64)}.com`,
  ],
  'too long a name': [`${'a.'.repeat(130)}com`],
}

/** Whole URLs. */
const TEXTS: Record<string, string[]> = {
  'no https': [
    'http://hooks.example.com/',
    'http://hooks.example.com:443/',
    'HTTP://1.1.1.1/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:11211/_stats',
    'ftp://hooks.example.com/',
    'ws://hooks.example.com/',
    'wss://hooks.example.com/',
    'dict://127.0.0.1:6379/info',
    'ldap://127.0.0.1/',
    'jar:http://127.0.0.1!/',
    'data:text/html,x',
    'javascript:alert(1)',
    'blob:https://hooks.example.com/1',
    'unix:/var/run/docker.sock',
    'httpss://hooks.example.com/',
    '//hooks.example.com/',
    'hooks.example.com/',
    'hooks.example.com',
    '/hook',
    '',
    'about:blank',
  ],
  'no authority where it belongs': words(`
    https: https:/ https:// https:///hooks.example.com https:hooks.example.com https:/hooks.example.com
    https:////127.0.0.1/ https://?x https://:443/
  `),
  'a user name': words(`
    https://user@hooks.example.com/ https://user:password@hooks.example.com/ https://@hooks.example.com/
    https://:@hooks.example.com/ https://hooks.example.com@127.0.0.1/ https://hooks.example.com:443@127.0.0.1:8443/
    https://1.1.1.1&@127.0.0.1@1.1.1.1/ https://hooks.example.com%40127.0.0.1@10.0.0.1/
  `),
  'a port of another service': words(`
    https://hooks.example.com:80/ https://hooks.example.com:22/ https://hooks.example.com:25/
    https://hooks.example.com:6379/ https://hooks.example.com:0/ https://hooks.example.com:65536/
    https://hooks.example.com:-443/ https://hooks.example.com:443x/ https://1.1.1.1:8080/
    https://[2606:4700::1111]:9200/
  `),
  'white space, control characters and backslashes': [
    ' https://hooks.example.com/',
    'https://hooks.example.com/ ',
    'https://hooks.exa\tmple.com/',
    'https://hooks.exa\nmple.com/',
    'https://hooks.example.com/\r\nX-Injected: 1',
    'ht\ntps://127.0.0.1/',
    'https://127.0\n.0.1/',
    'https://hooks.example.com/a b',
    'https://hooks.example.com/\u0000',
    'https://hooks.example.com\u007f/',
    'https:\\\\127.0.0.1\\',
    'https://hooks.example.com\\@127.0.0.1/',
    'https://127.0.0.1\\.example.com/',
    '\u0001https://hooks.example.com/',
    'https://hooks.example.com/\u0085',
    'https://hooks\u3000.example.com/',
    'https://hooks\u200d.example.com:8443/'.replace('\u200d', '\u2028'),
  ],
  'a fragment': [
    'https://hooks.example.com/#x',
    'https://hooks.example.com/#',
    'https://hooks.example.com#@127.0.0.1/',
  ],
  'too long': [`https://hooks.example.com/${'a'.repeat(2_048 - 25)}`],
}

const hostUrls = (hosts: string[]) => hosts.flatMap((host) => [`https://${host}/hook`, `https://${host}:8443/hook`])
const REFUSED: [category: string, urls: string[]][] = [
  ...Object.entries(LITERALS).map(([name, hosts]): [string, string[]] => [name, hostUrls(hosts)]),
  ...Object.entries(NAMES).map(([name, hosts]): [string, string[]] => [name, hostUrls(hosts)]),
  ...Object.entries(TEXTS),
]

test.each(REFUSED)('a URL with %s is refused', (_, refused) => {
  for (const url of refused) expect({ url, fault: urls.faultOf(url) }).toEqual({ url, fault: expect.any(String) })
})

const TAKEN = [
  'https://hooks.example.com',
  'https://hooks.example.com/',
  'https://hooks.example.com/a/b?c=d&e=%20f',
  'https://hooks.example.com:443/',
  'https://hooks.example.com:8443/x',
  'HTTPS://HOOKS.EXAMPLE.COM/x',
  'https://hooks.example.com./x',
  'https://xn--bcher-kva.example.com/',
  'https://bücher.example.com/ünï',
  'https://a_b.example.com/',
  'https://a--b.example.com/',
  'https://1.example.com/',
  'https://127.0.0.1.nip.io/',
  'https://localhost.example.com/',
  'https://1.1.1.1/',
  'https://1.1.1.1:8443/',
  'https://16843009/',
  'https://[2606:4700:4700::1111]/',
  'https://[2a00:1450:4001:830::200e]:8443/x',
  'https://hooks.example.com/@user',
  'https://hooks.example.com/?to=a@b.example',
  `https://hooks.example.com/${'a'.repeat(2_048 - 26)}`,
]

test.each(TAKEN)('%s is accepted', (url) => {
  expect(urls.faultOf(url)).toBeUndefined()
  expect(urls.destinationOf(url)).toMatchObject({ protocol: 'https:', origin: new URL(url).origin })
})

test.each([
  ['http://hooks.example.com/', 'must begin with https://'],
  ['https://hooks.example.com:9000/', 'must use port 443 (or none) or 8443'],
  ['https://me@hooks.example.com/', 'must not contain a user name or password'],
  ['https://2130706433/', 'must lead to a public address'],
  ['https://localhost/', 'must lead to a public address'],
  ['https://hooks.example.com/#a', 'must not have a fragment (#...)'],
  ['https://receiver/', 'must name a host of the public internet, such as https://hooks.example.com/verdict'],
  [`https://hooks.example.com/${'a'.repeat(2_048)}`, 'must have at most 2048 characters'],
])('the fault of %s says what to do', (url, words) => {
  expect(urls.faultOf(url)).toBe(words)
})

test.each(['65536', '99999', '4e2', '-1', 'https', '8443:8443', '443%20'])(
  'the fault of the port %s is about the port',
  (port) => {
    const open = createUrlGuard({ allowSubnets: ['127.0.0.0/8'] })
    for (const host of ['hooks.example.com', '1.1.1.1', '[2606:4700::1111]'])
      for (const path of ['', '/', '/a:b/c?d=e:f', '?a']) {
        expect(urls.faultOf(`https://${host}:${port}${path}`)).toBe('must use port 443 (or none) or 8443')
        expect(open.faultOf(`https://${host}:${port}${path}`)).toBe('must have a port from 1 to 65535')
      }
  },
)

test('the destination of a URL is what the URL standard makes of its text', () => {
  const { mayDial, ...place } = urls.destinationOf('HTTPS://Hooks.Example.COM.:8443/a/../b?c=d')!
  expect(place).toEqual({
    protocol: 'https:',
    host: 'hooks.example.com',
    port: 8443,
    origin: 'https://hooks.example.com.:8443',
    path: '/b?c=d',
    addresses: undefined,
  })
  expect([mayDial('1.1.1.1'), mayDial('127.0.0.1')]).toEqual([true, false])
})

test('inside the allowed subnets http, any port and private addresses are accepted, and outside them they are not', () => {
  const open = createUrlGuard({ allowSubnets: ['127.0.0.0/8', '10.1.0.0/16'] })
  for (const url of words(`
    http://127.0.0.1:3000/hook https://127.0.0.1/ http://2130706433/ http://localhost:3000/ http://receiver:3000/
    http://hooks.internal/ https://10.1.2.3:9999/ https://1.1.1.1/
  `))
    expect({ url, fault: open.faultOf(url) }).toEqual({ url, fault: undefined })
  for (const url of words(`
    http://[::1]/ http://10.2.0.1/ https://10.2.0.1/ http://1.1.1.1/ https://1.1.1.1:9/ ftp://127.0.0.1/
  `))
    expect({ url, fault: open.faultOf(url) }).toEqual({ url, fault: expect.any(String) })
})

test('http to a name may be dialled inside the allowed subnets only, https on its ports also elsewhere', () => {
  const open = createUrlGuard({ allowSubnets: ['127.0.0.0/8'] })
  const dialled = (url: string) => ['1.1.1.1', '127.0.0.1', '10.0.0.1'].filter(open.destinationOf(url)!.mayDial)
  expect(dialled('http://hooks.example.com/')).toEqual(['127.0.0.1'])
  expect(dialled('https://hooks.example.com:9999/')).toEqual(['127.0.0.1'])
  expect(dialled('https://hooks.example.com/')).toEqual(['1.1.1.1', '127.0.0.1'])
})

test('localhost is loopback without a look-up, and only as far as loopback is allowed', () => {
  const open = createUrlGuard({ allowSubnets: ['127.0.0.0/8'] })
  expect(open.destinationOf('http://app.localhost:3000/')?.addresses).toEqual(['127.0.0.1'])
  expect(createUrlGuard({ allowSubnets: ['10.0.0.0/8'] }).faultOf('http://localhost/')).toBe('must begin with https://')
})

// The whole corpus against a real listener: names resolve to it, and literals lead to it where they can.

let dialled = 0
const count = () => dialled++

const receiver = untilEnd(await startReceiver())
channel('net.client.socket').subscribe(count)

const SENDER = { accountId: 'endpoint' }

afterAll(() => channel('net.client.socket').unsubscribe(count))

test('none of more than 200 hostile URLs opens a socket', async () => {
  const corpus = [...new Set(REFUSED.flatMap(([, refused]) => refused))]
  const onPort = corpus.map((url) => url.replace(':8443', `:${receiver.port}`))
  const hostile = [...corpus, ...onPort]
  expect(corpus.length).toBeGreaterThan(400)
  const { post, close } = createPost({ allowSubnets: [], lookup: async () => ['127.0.0.1'] })
  dialled = 0
  for (const url of hostile)
    expect({ url, ...(await post(url, {}, Buffer.from('{}'), SENDER)) }).toEqual({
      url,
      outcome: 'blocked',
      phases: {},
    })
  expect([dialled, receiver.connections]).toEqual([0, 0])
  await close()
})

test('a name with any address that is not public opens no socket', async () => {
  const hosts = Object.values(LITERALS).flat()
  const addresses = hosts.flatMap((host) => URL.parse(`https://${host}/`)?.hostname.replace(/^\[|\]$/g, '') ?? [])
  expect(addresses.length).toBeGreaterThan(100)
  dialled = 0
  for (const address of addresses)
    for (const answer of [[address], ['1.1.1.1', address], [address, '1.1.1.1']]) {
      const { post } = createPost({ allowSubnets: [], lookup: async () => answer })
      const posted = await post('https://hooks.example.com/', {}, Buffer.from('{}'), SENDER)
      expect({ answer, outcome: posted?.outcome }).toEqual({ answer, outcome: 'blocked' })
    }
  expect([dialled, receiver.connections]).toEqual([0, 0])
})

test('the same URL opens one socket as soon as its address is allowed', async () => {
  const { post, close } = createPost({ allowSubnets: ['127.0.0.0/8'], lookup: async () => ['127.0.0.1'] })
  dialled = 0
  const posted = await post(`http://hooks.example.com:${receiver.port}/`, {}, Buffer.from('{}'), SENDER)
  expect([posted?.outcome, dialled, receiver.connections]).toEqual(['acked', 1, 1])
  await close()
})
