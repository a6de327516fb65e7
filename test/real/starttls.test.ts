import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import { join } from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { selfSigned, signedBy } from './certificates.ts'
import { openFolder } from './daemon.ts'
import { type MailWorld, startMailWorld } from './mail-world.ts'
import { splitTrace } from './mailbox.ts'
import type { PostfixSetup } from './postfix.ts'

// Each host is a Postfix listener: one without STARTTLS, the others with different certificates and TLS versions.
const HOSTS = {
  plain: '127.0.0.1',
  untrusted: '127.0.0.2',
  trusted: '127.0.0.3',
  stranger: '127.0.0.4',
  outdated: '127.0.0.5',
}
const RECIPIENTS = Object.entries(HOSTS)
  .map(([host, address]) => `mx.${host} A ${address}\n${host} MX 10 mx.${host}`)
  .join('\n')

/** Domains with an MTA-STS policy and the exchangers above. The policy lists those of the first two. */
const POLICY_HOST = '127.0.0.6'
const MTA_STS = { kept: 'trusted', broken: 'untrusted', foreign: 'plain' }
const PROTECTED = Object.entries(MTA_STS)
  .map(
    ([domain, host]) =>
      `${domain} MX 10 mx.${host}\n_mta-sts.${domain} TXT "v=STSv1; id=1;"\nmta-sts.${domain} A ${POLICY_HOST}`,
  )
  .join('\n')
const POLICY = `version: STSv1\r\nmode: enforce\r\nmx: mx.trusted.example.net\r\nmx: *.untrusted.example.net\r\nmax_age: 86400\r\n`

let world: MailWorld
let certificates: string

beforeAll(async () => {
  certificates = await openFolder('certificates')
  const authority = join(certificates, 'authority')
  selfSigned(authority, 'Test authority')
  selfSigned(join(certificates, 'untrusted'), 'mx.untrusted.example.net')
  signedBy(authority, join(certificates, 'trusted'), 'mx.trusted.example.net')
  untilEnd(await startPolicyHost(authority))
  const addresses = Object.keys({ ...HOSTS, ...MTA_STS }).map((host) => [`anna@${host}.example.net`, 'anna'])
  world = await startMailWorld({
    recipients: `${RECIPIENTS}\n${PROTECTED}`,
    postfix: () => ({ listeners: listeners(), addresses: Object.fromEntries(addresses) }),
    env: { NODE_EXTRA_CA_CERTS: `${authority}.pem` },
  })
})

/** Starts an HTTPS server on port 443, the only port for a policy (RFC 8461 3.3). */
async function startPolicyHost(authority: string): Promise<Server> {
  const names = Object.keys(MTA_STS).map((domain) => `mta-sts.${domain}.example.net`)
  const pairs = names.map(async (name) => {
    signedBy(authority, join(certificates, name), name)
    const [cert, key] = await Promise.all(['pem', 'key'].map((end) => readFile(join(certificates, `${name}.${end}`))))
    return { name, cert, key }
  })
  const server = createServer((request, response) => {
    const isPolicy = request.url === '/.well-known/mta-sts.txt'
    response.writeHead(isPolicy ? 200 : 404, { 'content-type': 'text/plain' }).end(isPolicy ? POLICY : '')
  })
  for (const { name, ...pair } of await Promise.all(pairs)) server.addContext(name, pair)
  server.listen(443, POLICY_HOST)
  await once(server, 'listening')
  return server
}

function listeners(): PostfixSetup['listeners'] {
  const tls = (certificate: string) => ({
    smtpd_tls_security_level: 'may',
    smtpd_tls_received_header: 'yes',
    smtpd_tls_chain_files: ['key', 'pem'].map((end) => join(certificates, `${certificate}.${end}`)).join(', '),
  })
  return {
    [HOSTS.plain]: {},
    [HOSTS.untrusted]: tls('untrusted'),
    [HOSTS.trusted]: tls('trusted'),
    // The certificate of a trusted authority, but for another host.
    [HOSTS.stranger]: tls('trusted'),
    [HOSTS.outdated]: { ...tls('untrusted'), smtpd_tls_protocols: 'TLSv1.1' },
  }
}

test.each([
  ['that is self-signed', 'untrusted', false],
  ['for another host', 'stranger', false],
  ['that is trusted', 'trusted', true],
])(
  'mail over STARTTLS with a certificate %s arrives, and the evidence has the TLS version and the verification',
  async (_, host, verified) => {
    const before = await world.postfix.count('anna')
    const { body } = await world.product.send({ to: `anna@${host}.example.net` })
    expect(body).toMatchObject({ status: 'delivered', smtp: { tls: { version: 'TLSv1.3', verified } } })
    expect(splitTrace(await world.postfix.mail('anna', before + 1)).trace).toMatch(/using TLSv1\.3 with cipher/)
  },
)

test.each([
  ['without STARTTLS', 'plain'],
  ['whose TLS is too old', 'outdated'],
])('a server %s gets the mail without TLS, and the evidence says so', async (_, host) => {
  const before = await world.postfix.count('anna')
  const { body } = await world.product.send({ to: `anna@${host}.example.net` })
  expect(body).toMatchObject({ status: 'delivered', smtp: { tls: null } })
  expect(splitTrace(await world.postfix.mail('anna', before + 1)).trace).not.toContain('TLS')
})

test('a domain whose exchanger matches its MTA-STS policy gets its mail over verified TLS', async () => {
  const before = await world.postfix.count('anna')
  const { body } = await world.product.send({ to: 'anna@kept.example.net' })
  expect(body).toMatchObject({ status: 'delivered', smtp: { mx: 'mx.trusted.example.net', tls: { verified: true } } })
  // Postfix accepts a mail before it stores it. The next tests count what is stored.
  await world.postfix.mail('anna', before + 1)
})

test.each([
  [
    'has a certificate that is not trusted',
    'broken',
    {
      phase: 'starttls',
      mx: 'mx.untrusted.example.net',
      tls: { version: 'TLSv1.3', verified: false },
      detail: 'MTA-STS demands TLS with a valid certificate: DEPTH_ZERO_SELF_SIGNED_CERT',
    },
  ],
  [
    'is not in the policy',
    'foreign',
    {
      phase: 'dns',
      tls: null,
      detail: 'the MTA-STS policy of foreign.example.net permits none of its mail exchangers (mx.plain.example.net)',
    },
  ],
])('an exchanger that %s gets no mail under an enforced MTA-STS policy', async (_, domain, smtp) => {
  const before = await world.postfix.count('anna')
  const { body } = await world.product.send({ to: `anna@${domain}.example.net` })
  expect(body).toMatchObject({ status: 'bounced', reason: 'policy_block', smtp })
  expect(await world.postfix.count('anna')).toBe(before)
})

test('a domain that requires TLS sends only to servers with a trusted certificate', async () => {
  await world.account.database.db.$client`update domains set requires_tls = true`
  const sendTo = async (host: string) => (await world.product.send({ to: `anna@${host}.example.net` })).body
  // A change of a domain takes effect within 5 s.
  const refusal = { status: 'bounced', reason: 'policy_block', smtp: { phase: 'starttls' } }
  await vi.waitFor(async () => expect(await sendTo('plain')).toMatchObject(refusal), { timeout: 8_000, interval: 500 })
  for (const host of ['untrusted', 'stranger', 'outdated']) expect(await sendTo(host)).toMatchObject(refusal)
  expect(await sendTo('trusted')).toMatchObject({ status: 'delivered', smtp: { tls: { verified: true } } })
})
