import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { selfSigned, signedBy } from './certificates.ts'
import { openFolder } from './daemon.ts'
import { type MailWorld, startMailWorld } from './mail-world.ts'
import { splitTrace } from './mailbox.ts'
import type { PostfixSetup } from './postfix.ts'

// Each is a listener of Postfix: without STARTTLS, and with different certificates and versions of TLS.
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

let world: MailWorld
let certificates: string

beforeAll(async () => {
  certificates = await openFolder('certificates')
  const authority = join(certificates, 'authority')
  selfSigned(authority, 'Test authority')
  selfSigned(join(certificates, 'untrusted'), 'mx.untrusted.example.net')
  signedBy(authority, join(certificates, 'trusted'), 'mx.trusted.example.net')
  const addresses = Object.keys(HOSTS).map((host) => [`anna@${host}.example.net`, 'anna'])
  world = await startMailWorld({
    recipients: RECIPIENTS,
    postfix: () => ({ listeners: listeners(), addresses: Object.fromEntries(addresses) }),
    env: { NODE_EXTRA_CA_CERTS: `${authority}.pem` },
  })
})

afterAll(async () => {
  await world?.end()
  await rm(certificates, { recursive: true })
})

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
    // Of an authority that is trusted, but for another host.
    [HOSTS.stranger]: tls('trusted'),
    [HOSTS.outdated]: { ...tls('untrusted'), smtpd_tls_protocols: 'TLSv1.1' },
  }
}

test.each([
  ['that is self-signed', 'untrusted', false],
  ['for another host', 'stranger', false],
  ['that is trusted', 'trusted', true],
])(
  'STARTTLS with a certificate %s: the mail arrives, and the evidence says how it travelled',
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
])('a server %s gets the mail in clear, and the evidence says so', async (_, host) => {
  const before = await world.postfix.count('anna')
  const { body } = await world.product.send({ to: `anna@${host}.example.net` })
  expect(body).toMatchObject({ status: 'delivered', smtp: { tls: null } })
  expect(splitTrace(await world.postfix.mail('anna', before + 1)).trace).not.toContain('TLS')
})
