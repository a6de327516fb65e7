import { spawnSync } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { selfSigned, signedBy } from './certificates.ts'
import { openFolder } from './daemon.ts'
import { startNsd } from './nsd.ts'
import { mailboxFolder, type Postfix, startPostfix } from './postfix.ts'
import { createSender, type Product, startProduct } from './product.ts'
import { createSigner, startUnbound } from './unbound.ts'

// Postfix with TLSA records in zones that ldns signs, nsd serves and unbound validates.

const SIGNED = 'signed.example.net'
const BOGUS = 'bogus.example.net'
const UNSIGNED = 'unsigned.example.net'
/** The domains in the signed zone. */
const DOMAINS = ['usable', 'anchor', 'rollover', 'wrong', 'next', 'unusable', 'none', 'alias'].map(
  (name) => `${name}.${SIGNED}`,
)
/** Postfix and posttls-finger ask the resolver of the machine, which is this one for them. */
const RESOLVER = '127.0.0.53'

let product: Product
let postfix: Postfix
let certificates: string

beforeAll(async () => {
  certificates = await openFolder('certificates')
  const path = (name: string) => join(certificates, name)
  selfSigned(path('authority'), 'Test authority')
  selfSigned(path('own'), 'any.name.example')
  signedBy(path('authority'), path('issued'), `anchor.${SIGNED}`)
  await writeFile(
    path('issued.chain'),
    ['issued.key', 'issued.pem', 'authority.pem'].map((file) => readFileSync(path(file), 'utf8')).join(''),
  )

  const mailboxes = await mailboxFolder()
  const tls = (files: string) => ({ smtpd_tls_security_level: 'may', smtpd_tls_chain_files: files })
  const recipients = [...DOMAINS, UNSIGNED, BOGUS].map((domain) => [`anna@${domain}`, 'anna'])
  postfix = await startPostfix({
    listeners: {
      '127.0.0.1': tls(`${path('own.key')}, ${path('own.pem')}`),
      '127.0.0.2': tls(path('issued.chain')),
      '127.0.0.3': {},
    },
    addresses: Object.fromEntries(recipients),
    mailboxes,
  })

  const digest = (file: string) => {
    const { publicKey } = new X509Certificate(readFileSync(path(file)))
    return createHash('sha256')
      .update(publicKey.export({ type: 'spki', format: 'der' }))
      .digest('hex')
  }
  const record = (host: string, ...fields: string[]) => `_${postfix.port}._tcp.${host} TLSA ${fields.join(' ')}`
  const right = digest('own.pem')
  const wrong = digest('authority.pem')
  const account = await createSender()
  const signer = await createSigner()
  const zones = {
    'example.com': account.zone,
    [SIGNED]: `
own A 127.0.0.1
issued A 127.0.0.2
clear A 127.0.0.3
${['usable', 'rollover', 'wrong', 'unusable'].map((name) => `mx.${name} A 127.0.0.1\n${name} MX 10 mx.${name}`).join('\n')}
${record('mx.usable', '3 1 1', right)}
${record('mx.rollover', '3 1 1', wrong)}
${record('mx.rollover', '3 1 1', right)}
${record('mx.wrong', '3 1 1', wrong)}
${record('mx.unusable', '1 1 1', wrong)}
anchor MX 10 issued
${record('issued', '2 1 1', digest('authority.pem'))}
next MX 10 mx.wrong
next MX 20 own
none MX 10 own
alias MX 10 mx.alias
mx.alias CNAME mx.usable
`,
    [UNSIGNED]: `@ MX 10 mx\nmx A 127.0.0.1\n${record('mx', '3 1 1', wrong)}`,
    [BOGUS]: `@ MX 10 mx\nmx A 127.0.0.1`,
  }
  const sign: Record<string, typeof signer.sign> = { [SIGNED]: signer.sign, [BOGUS]: signer.signWrongly }
  const nsd = await startNsd(zones, { prepare: async (zone, file) => sign[zone]?.(zone, file) })
  const unbound = await startUnbound({
    zones: Object.keys(zones),
    port: nsd.port,
    anchors: signer.anchors,
    also: RESOLVER,
  })
  product = await startProduct(account, {
    DNS_SERVERS: unbound.address,
    DNSSEC: 'trust',
    SMTP_PORT: String(postfix.port),
    SMTP_ALLOW_SUBNETS: '127.0.0.0/8',
    SMTP_HELO_NAME: 'mail.example.com',
  })
})

const sendTo = async (domain: string) => (await product.send({ to: `anna@${domain}` })).body

test.each(['usable', 'anchor', 'rollover', 'alias'])(
  'usable records prove the certificate of Postfix: %s',
  async (name) => {
    const { status, message_id, smtp } = await sendTo(`${name}.${SIGNED}`)
    expect([status, smtp.tls]).toEqual(['delivered', { version: 'TLSv1.3', verified: true, by: 'dane' }])
    const { recipients } = await product.get(`/api/v1/emails/${message_id}`)
    expect(recipients[0].smtp.tls.by).toBe('dane')
  },
)

test('a wrong record is a policy block, and the next host is tried first', async () => {
  const alone = await sendTo(`wrong.${SIGNED}`)
  expect(alone).toMatchObject({ status: 'bounced', reason: 'policy_block', smtp: { phase: 'starttls' } })
  expect(alone.smtp.detail).toMatch(/^DANE demands TLS .*: no TLSA record matches the certificate$/)
  const next = await sendTo(`next.${SIGNED}`)
  expect(next).toMatchObject({
    status: 'delivered',
    smtp: { mx: `own.${SIGNED}`, tried: [{ mx: `mx.wrong.${SIGNED}` }] },
  })
})

test('records that cannot be used, no records, and a zone that is not signed leave the certificate unproved', async () => {
  for (const domain of [`unusable.${SIGNED}`, `none.${SIGNED}`, UNSIGNED]) {
    const { status, smtp } = await sendTo(domain)
    expect([status, smtp.tls], domain).toEqual(['delivered', { version: 'TLSv1.3', verified: false }])
  }
})

test('a zone whose signatures are wrong is our fault: nothing was sent', async () => {
  const { status, body } = await product.send({ to: `anna@${BOGUS}` })
  expect([status, body.error]).toEqual([500, 'transient_failure'])
})

test("Postfix's own client finds the same", async () => {
  const folder = await openFolder('finger')
  await writeFile(join(folder, 'main.cf'), 'compatibility_level = 3.6\nsmtp_dns_support_level = dnssec\n')
  await writeFile(join(folder, 'resolv.conf'), `nameserver ${RESOLVER}\noptions trust-ad\n`)
  const finger = (domain: string) => {
    const options = `-c -t 5 -l dane -L summary '${domain}:${postfix.port}'`
    const command = `mount --bind ${folder}/resolv.conf /etc/resolv.conf && posttls-finger ${options}`
    const env = { ...process.env, MAIL_CONFIG: folder }
    const { stdout, stderr } = spawnSync('unshare', ['-m', 'sh', '-c', command], { encoding: 'utf8', env })
    return stdout + stderr
  }
  for (const name of ['usable', 'anchor', 'rollover', 'alias'])
    expect(finger(`${name}.${SIGNED}`)).toContain('Verified TLS')
  expect(finger(`wrong.${SIGNED}`)).not.toContain('Verified TLS')
  expect(finger(`none.${SIGNED}`)).not.toContain('Verified TLS')
})
