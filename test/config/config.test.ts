import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { type Config, readConfig, readVariables } from '../../server/config/config.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { temporaryFolder } from '../harness/until-end.ts'

const KEY = Buffer.alloc(32, 7).toString('base64')
const least = { DATABASE_URL: 'postgres://verdict:secret@127.0.0.1:5432/verdict', ENCRYPTION_KEYS: `k1:${KEY}` }

const HOST = 'must have a host name or an address, and a port from 1 to 65535 if any,'

const dir = temporaryFolder()

function file(name: string, text: string): string {
  writeFileSync(join(dir, name), text)
  return join(dir, name)
}

function config(env: Record<string, string>): Config {
  const reading = readConfig({ ...least, ...env })
  if ('faults' in reading) throw new Error(JSON.stringify(reading.faults))
  return reading.config
}

function faults(env: Record<string, string>): string[] {
  const reading = readConfig({ ...least, ...env })
  return 'faults' in reading ? reading.faults.map(({ name, why }) => `${name} ${why}`) : []
}

test('a minimal configuration has the documented default of every other variable', () => {
  expect(config({})).toEqual({
    production: false,
    host: '127.0.0.1',
    port: 8080,
    databaseUrl: least.DATABASE_URL,
    encryptionKeys: [{ id: 'k1', key: Buffer.alloc(32, 7) }],
    lostEncryptionKeys: [],
    publicUrl: undefined,
    tls: undefined,
    allowedHosts: [],
    trustProxy: [],
    dnsServers: undefined,
    dnssec: 'off',
    smtpPort: 25,
    smtpRoutes: new Map(),
    smtpAllowSubnets: [],
    smtpSourceAddresses: [],
    smtpPublicAddresses: [],
    smtpHeloName: hostname(),
    returnPathHost: undefined,
    bouncePort: undefined,
    smtpFrontPort: undefined,
    smtpFrontTlsPort: undefined,
    smtpFrontLmtpPort: undefined,
    smtpFrontHost: '127.0.0.1',
    smtpFrontCertificate: undefined,
    bounceHost: '127.0.0.1',
    sendBudgetMs: 30_000,
    simulatorInbox: false,
    tracesEndpoint: undefined,
    tracesSampler: 'parentbased_traceidratio',
    tracesSamplerArg: 0.01,
    drainGraceMs: 0,
    // A repeat of a batch waits for 60 + 30 + 10 + 10 s, and its response has 10 s more.
    drainMs: 120_000,
    temporal: undefined,
    temporalUiUrl: undefined,
    webhookAllowSubnets: [],
    webhookSchedule: [0, 60_000, 300_000, 900_000, 3_600_000, 21_600_000],
    webhookProxy: undefined,
    storeContent: false,
    contentRetentionDays: 90,
    historyArchiveRequired: false,
    dataRegion: 'eu',
    limits: DEFAULT_LIMITS,
    admin: undefined,
    metricsHost: '127.0.0.1',
    metricsPort: 9464,
    workerMetricsPort: 9465,
    otlpEndpoint: undefined,
    otlpMetricsEndpoint: undefined,
    otlpMetricsIntervalMs: 60_000,
    logLevel: 'info',
    dataDir: resolve('.verdict'),
    readyFile: undefined,
  })
})

test.each([20_000, 30_000, 60_000])(
  'with a send budget of %i ms, a drain lasts longer than a repeat of a batch waits for its first request',
  (budgetMs) => {
    const batchAndLeaseMs = 60_000 + budgetMs + 10_000
    const repeatMs = batchAndLeaseMs + 10_000
    expect(config({ SEND_BUDGET_MS: String(budgetMs) }).drainMs).toBeGreaterThan(repeatMs)
  },
)

test('the bounce listener uses the address of the API, unless BOUNCE_HOST is set', () => {
  expect(config({ HOST: '0.0.0.0', BOUNCE_PORT: '25' })).toMatchObject({ bouncePort: 25, bounceHost: '0.0.0.0' })
})

test('the configuration cannot be changed', () => {
  expect(Object.isFrozen(config({}))).toBe(true)
})

test('an empty variable counts as not set', () => {
  expect(config({ PORT: '', SMTP_ROUTES: '', STORE_CONTENT: '' })).toEqual(config({}))
})

test('every variable is read', () => {
  expect(
    config({
      HOST: '::',
      PORT: '0',
      PUBLIC_URL: 'https://mail.example.com/verdict/',
      ALLOWED_HOSTS: 'Bücher.example., mail.example.net:8443',
      TRUST_PROXY: '10.0.0.1, fd00::/8',
      DNS_SERVERS: '192.0.2.53,192.0.2.54:5353,[2001:db8::53]:5353',
      SMTP_PORT: '2525',
      SMTP_ROUTES: 'Example.com=mail.internal:2525,b\u00fccher.example=[::1]:26',
      SMTP_ALLOW_SUBNETS: '10.1.0.0/16,192.168.0.1',
      SMTP_SOURCE_ADDRESSES: '192.0.2.25,2001:db8::25',
      SMTP_HELO_NAME: 'Mail.Example.com.',
      RETURN_PATH_HOST: 'bounces.example.com',
      BOUNCE_PORT: '2526',
      BOUNCE_HOST: '192.0.2.26',
      SEND_BUDGET_MS: '20000',
      TEMPORAL_ADDRESS: '[::1]:7233',
      TEMPORAL_NAMESPACE: 'mail',
      TEMPORAL_UI_URL: 'https://temporal.example.com/',
      WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
      WEBHOOK_SCHEDULE: '0, 50ms,2s,1m,1h',
      WEBHOOK_PROXY: 'http://user:secret@proxy.internal:3128',
      STORE_CONTENT: 'true',
      DATA_REGION: 'eu-central',
      ADMIN_EMAIL: 'ann@example.com',
      ADMIN_PASSWORD: 'correct horse battery',
      LOG_LEVEL: 'debug',
      DATA_DIR: '/var/lib/verdict',
      VERDICT_READY_FILE: '/run/ready.json',
      DRAIN_GRACE_MS: '250',
    }),
  ).toMatchObject({
    host: '::',
    port: 0,
    publicUrl: 'https://mail.example.com/verdict',
    allowedHosts: ['xn--bcher-kva.example', 'mail.example.net:8443'],
    trustProxy: ['10.0.0.1/32', 'fd00::/8'],
    dnsServers: ['192.0.2.53', '192.0.2.54:5353', '[2001:db8::53]:5353'],
    smtpPort: 2525,
    smtpRoutes: new Map([
      ['example.com', { host: 'mail.internal', port: 2525 }],
      ['xn--bcher-kva.example', { host: '::1', port: 26 }],
    ]),
    smtpAllowSubnets: ['10.1.0.0/16', '192.168.0.1/32'],
    smtpSourceAddresses: ['192.0.2.25', '2001:db8::25'],
    smtpPublicAddresses: ['192.0.2.25', '2001:db8::25'],
    smtpHeloName: 'mail.example.com',
    returnPathHost: 'bounces.example.com',
    bouncePort: 2526,
    bounceHost: '192.0.2.26',
    sendBudgetMs: 20_000,
    drainGraceMs: 250,
    drainMs: 110_000,
    temporal: { address: '[::1]:7233', namespace: 'mail', apiKey: undefined, tls: undefined },
    temporalUiUrl: 'https://temporal.example.com',
    webhookAllowSubnets: ['127.0.0.0/8'],
    webhookSchedule: [0, 50, 2000, 60_000, 3_600_000],
    webhookProxy: 'http://user:secret@proxy.internal:3128/',
    storeContent: true,
    dataRegion: 'eu-central',
    admin: { email: 'ann@example.com', password: 'correct horse battery' },
    logLevel: 'debug',
    dataDir: '/var/lib/verdict',
    readyFile: '/run/ready.json',
  })
})

test.each([
  ['NODE_ENV', 'prod', 'must be one of production, development, test'],
  ['HOST', '127.0.0.256', 'must be a host name'],
  ['HOST', 'ex%41mple.com', 'must be a host name'],
  ['HOST', 'example.com/x', 'must be a host name'],
  ['PORT', '65536', 'must be a whole number from 0 to 65535'],
  ['PORT', '-1', 'must be a whole number from 0 to 65535'],
  ['PORT', '80.5', 'must be a whole number from 0 to 65535'],
  ['PORT', '0x50', 'must be a whole number from 0 to 65535'],
  ['DATABASE_URL', 'mysql://verdict:secret@db/verdict', 'must be a postgres:// URL'],
  ['DATABASE_URL', 'db.internal', 'must be a postgres:// URL'],
  ['DATABASE_URL', 'postgres://verdict@a,b:port/verdict', `${HOST} for server 2`],
  ['DATABASE_URL', 'postgres://verdict@a:5432,b:70000/verdict', `${HOST} for server 2`],
  ['DATABASE_URL', 'postgres://verdict@a:5432,,c/verdict', `${HOST} for server 2`],
  ['DATABASE_URL', 'postgres://verdict@[::g],b/verdict', `${HOST} for server 1`],
  ['DATABASE_URL', 'postgres://verdict@a,b,a:5432/verdict', 'must name each server once: server 3 is named before'],
  [
    'DATABASE_URL',
    'postgres://verdict@a,b/verdict?target_session_attrs=any',
    'must have target_session_attrs=read-write, or leave it out: the service always writes',
  ],
  ['ENCRYPTION_KEYS', KEY, 'must be keys, each an id, a colon and 32 bytes in base64'],
  ['ENCRYPTION_KEYS', 'k1:c2hvcnQ=', 'must be keys, each an id, a colon and 32 bytes in base64'],
  ['ENCRYPTION_KEYS', `k1:${KEY},`, 'must be keys, each an id, a colon and 32 bytes in base64'],
  ['ENCRYPTION_KEYS', `k1:${KEY},k1:${KEY}`, 'must not use an id for two keys'],
  ['PUBLIC_URL', 'mail.example.com', 'must be an http:// or https:// URL without a query'],
  ['PUBLIC_URL', 'ftp://mail.example.com', 'must be an http:// or https:// URL without a query'],
  ['ALLOWED_HOSTS', '*.example.com', 'must be host names, each with a port or without'],
  ['ALLOWED_HOSTS', 'https://mail.example.com', 'must be host names, each with a port or without'],
  ['TRUST_PROXY', 'true', 'must be addresses or ranges in CIDR notation'],
  ['DRAIN_GRACE_MS', '5s', 'must be a whole number from 0 to 600000'],
  ['DRAIN_MS', '40s', 'must be a whole number from 0 to 3600000'],
  ['DNS_SERVERS', 'dns.example.com', 'must be addresses, each with a port or without'],
  ['DNS_SERVERS', '192.0.2.53:99999', 'must be addresses, each with a port or without'],
  ['NOTIFY_FROM', 'verdict', 'must be an email address'],
  ['NOTIFY_FROM', 'Verdict <verdict@example.com>', 'must be an email address'],
  ['SMTP_PORT', '0', 'must be a whole number from 1 to 65535'],
  ['SMTP_ROUTES', 'example.com', 'must be routes, each domain=host:port'],
  ['SMTP_ROUTES', 'example.com=127.0.0.1', 'must be routes, each domain=host:port'],
  ['SMTP_ROUTES', 'example..com=127.0.0.1:25', 'must be a host name'],
  ['SMTP_ALLOW_SUBNETS', '10.0.0.0/33', 'must be addresses or ranges in CIDR notation'],
  ['SMTP_ALLOW_SUBNETS', 'fd00::/129', 'must be addresses or ranges in CIDR notation'],
  ['SMTP_ALLOW_SUBNETS', '10.0.0.0/8/8', 'must be addresses or ranges in CIDR notation'],
  ['SMTP_SOURCE_ADDRESSES', '192.0.2.0/24', 'must be IP addresses'],
  ['SMTP_PUBLIC_ADDRESSES', 'mail.example.com', 'must be IP addresses'],
  ['SMTP_HELO_NAME', 'mail server', 'must be a host name'],
  ['RETURN_PATH_HOST', '-rp.example.com', 'must be a host name'],
  ['BOUNCE_PORT', 'smtp', 'must be a whole number from 0 to 65535'],
  ['BOUNCE_HOST', '127.0.0.256', 'must be a host name'],
  ['SEND_BUDGET_MS', '19999', 'must be a whole number from 20000 to 60000'],
  ['SEND_BUDGET_MS', '60001', 'must be a whole number from 20000 to 60000'],
  ['TEMPORAL_ADDRESS', 'temporal.internal', 'must be a host, a colon and a port'],
  ['TEMPORAL_ADDRESS', 'https://temporal.internal:7233', 'must be a host, a colon and a port'],
  ['TEMPORAL_ADDRESS', 'temporal internal:7233', 'must be a host name'],
  ['TEMPORAL_TLS', 'on', 'must be one of true, false'],
  ['TEMPORAL_TLS_SERVER_NAME', 'a b', 'must be a host name'],
  ['TEMPORAL_UI_URL', 'temporal:8233', 'must be an http:// or https:// URL without a query'],
  ['WEBHOOK_ALLOW_SUBNETS', 'loopback', 'must be addresses or ranges in CIDR notation'],
  ['WEBHOOK_SCHEDULE', '0,1d', 'must be delays, each 0 or a whole number with ms, s, m or h'],
  ['WEBHOOK_SCHEDULE', '0,60', 'must be delays, each 0 or a whole number with ms, s, m or h'],
  ['WEBHOOK_SCHEDULE', '0,', 'must be delays, each 0 or a whole number with ms, s, m or h'],
  ['WEBHOOK_SCHEDULE', '0,-1m', 'must be delays, each 0 or a whole number with ms, s, m or h'],
  ['WEBHOOK_SCHEDULE', '1m,5m', 'must begin with 0: the first attempt is made at once'],
  ['WEBHOOK_SCHEDULE', ['0', ...Array(20).fill('1s')].join(), 'must have at most 20 delays'],
  ['WEBHOOK_SCHEDULE', '0,12h,12h,1ms', 'must stay within 24 h'],
  ['WEBHOOK_PROXY', 'socks5://127.0.0.1:1080', 'must be an http:// or https:// URL without a path'],
  ['WEBHOOK_PROXY', 'http://127.0.0.1:3128/x', 'must be an http:// or https:// URL without a path'],
  ['STORE_CONTENT', 'yes', 'must be one of true, false'],
  ['DNSSEC', 'on', 'must be one of off, trust'],
  ['SIMULATOR_INBOX', 'on', 'must be one of true, false'],
  ['DATA_REGION', 'EU West', 'must be 1 to 32 of a-z, 0-9 and -'],
  ['ADMIN_EMAIL', 'ann', 'must be an email address'],
  ['ADMIN_PASSWORD', 'eleven char', 'must have 12 to 128 characters'],
  ['LOG_LEVEL', 'verbose', 'must be one of fatal, error, warn, info, debug, trace, silent'],
  ['TLS_CERT_FILE', '/nowhere/tls.crt', 'must name a file that can be read (ENOENT)'],
])('%s=%s: %s', (name, value, why) => {
  expect(faults({ [name]: value })).toContain(`${name} ${why}`)
})

test('the first person has an address and a password', () => {
  const ADMIN_EMAIL = 'ann@example.com'
  const ADMIN_PASSWORD = 'correct horse battery'
  expect(config({ ADMIN_EMAIL, ADMIN_PASSWORD }).admin).toEqual({ email: ADMIN_EMAIL, password: ADMIN_PASSWORD })
  expect(faults({ ADMIN_EMAIL })).toEqual(['ADMIN_PASSWORD must be set when ADMIN_EMAIL is'])
  expect(faults({ ADMIN_PASSWORD })).toEqual(['ADMIN_EMAIL must be set when ADMIN_PASSWORD is'])
})

const OIDC = { OIDC_ISSUER: 'https://accounts.example.com/', OIDC_CLIENT_ID: 'verdict', OIDC_CLIENT_SECRET: 'secret' }

test('the issuer of OpenID Connect stays as it is written, and has a client with a secret', () => {
  const oidc = { issuer: 'https://accounts.example.com/', clientId: 'verdict', clientSecret: 'secret' }
  expect(config(OIDC).oidc).toEqual(oidc)
  expect(config({}).oidc).toBeUndefined()
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET } = OIDC
  expect(faults({ OIDC_ISSUER })).toEqual([
    'OIDC_CLIENT_ID must be set when OIDC_ISSUER is',
    'OIDC_CLIENT_SECRET must be set when OIDC_ISSUER is',
  ])
  expect(faults({ OIDC_CLIENT_ID, OIDC_CLIENT_SECRET })).toEqual(['OIDC_ISSUER must be set when OIDC_CLIENT_ID is'])
})

test.each([
  'http://accounts.example.com',
  'https://accounts.example.com?tenant=1',
  'https://ann@accounts.example.com',
  'accounts.example.com',
])('OIDC_ISSUER=%s is refused', (OIDC_ISSUER) => {
  const why = 'must be an https:// URL without a query, or an http:// one on loopback'
  expect(faults({ ...OIDC, OIDC_ISSUER })).toEqual([`OIDC_ISSUER ${why}`])
})

test.each(['http://127.0.0.1:9000', 'http://localhost:9000', 'http://[::1]:9000/realms/verdict'])(
  'OIDC_ISSUER=%s is an issuer of this machine',
  (OIDC_ISSUER) => {
    expect(config({ ...OIDC, OIDC_ISSUER }).oidc?.issuer).toBe(OIDC_ISSUER)
  },
)

const SECRETS: [name: string, key: keyof Config | 'password' | 'apiKey' | 'clientSecret', value: string][] = [
  ['DATABASE_URL', 'databaseUrl', 'postgres://verdict:other@db.internal:5432/verdict'],
  ['WEBHOOK_PROXY', 'webhookProxy', 'http://user:secret@127.0.0.1:3128/'],
  ['TEMPORAL_API_KEY', 'apiKey', 'temporal-secret'],
  ['ADMIN_PASSWORD', 'password', 'correct horse battery'],
  ['OIDC_CLIENT_SECRET', 'clientSecret', 'a secret of the issuer'],
]

test.for(SECRETS)('%s may stand in a file', ([name, key, value]) => {
  const others = {
    ADMIN_EMAIL: 'ann@example.com',
    ADMIN_PASSWORD: 'another battery',
    TEMPORAL_ADDRESS: 'temporal:7233',
    ...OIDC,
  }
  const read = config({ ...others, [name]: '', [`${name}_FILE`]: file(name, `${value}\n`) })
  expect({ ...read, ...read.admin, ...read.temporal, ...read.oidc }).toMatchObject({ [key]: value })
})

test('ENCRYPTION_KEYS may stand in a file', () => {
  const { encryptionKeys } = config({ ENCRYPTION_KEYS: '', ENCRYPTION_KEYS_FILE: file('keys', `k2:${KEY}\r\n`) })
  expect(encryptionKeys).toMatchObject([{ id: 'k2' }])
})

test('a secret whose file does not help says why, and never shows a value', () => {
  const nothing = { DATABASE_URL: '' }
  expect(faults({ ...nothing, DATABASE_URL_FILE: '/nowhere/url' })).toEqual([
    'DATABASE_URL cannot be read: DATABASE_URL_FILE must name a file that can be read (ENOENT)',
  ])
  expect(faults({ ...nothing, DATABASE_URL_FILE: file('empty', '\n') })).toEqual([
    'DATABASE_URL must be set: the file that DATABASE_URL_FILE names is empty',
  ])
  expect(faults({ ...nothing, DATABASE_URL_FILE: file('url', 'mysql://secret') })).toEqual([
    'DATABASE_URL must be a postgres:// URL',
  ])
  expect(faults({ DATABASE_URL_FILE: file('url', 'postgres://db/verdict') })).toEqual([
    'DATABASE_URL must not be set when DATABASE_URL_FILE is',
  ])
})

test('all faults are reported at once, each with an example', () => {
  expect(readConfig({ PORT: 'http', SEND_BUDGET_MS: '5', TLS_CERT_FILE: '/nowhere', NODE_ENV: 'production' })).toEqual({
    faults: [
      { name: 'PORT', why: 'must be a whole number from 0 to 65535', example: 'PORT=8080' },
      {
        name: 'DATABASE_URL',
        why: 'must be set',
        example: 'DATABASE_URL=postgres://verdict:secret@db.internal:5432/verdict',
      },
      { name: 'ENCRYPTION_KEYS', why: 'must be set', example: 'ENCRYPTION_KEYS="k1:$(openssl rand -base64 32)"' },
      {
        name: 'TLS_CERT_FILE',
        why: 'must name a file that can be read (ENOENT)',
        example: 'TLS_CERT_FILE=/etc/verdict/tls.crt',
      },
      { name: 'PUBLIC_URL', why: 'must be set', example: 'PUBLIC_URL=https://mail.example.com' },
      { name: 'SEND_BUDGET_MS', why: 'must be a whole number from 20000 to 60000', example: 'SEND_BUDGET_MS=30000' },
      { name: 'TEMPORAL_ADDRESS', why: 'must be set', example: 'TEMPORAL_ADDRESS=temporal.internal:7233' },
      { name: 'DATA_REGION', why: 'must be set', example: 'DATA_REGION=eu' },
      { name: 'TLS_KEY_FILE', why: 'must be set when TLS_CERT_FILE is', example: 'TLS_KEY_FILE=/etc/verdict/tls.key' },
    ],
  })
})

test('in production DATABASE_URL, ENCRYPTION_KEYS, PUBLIC_URL, TEMPORAL_ADDRESS and DATA_REGION are required, and nothing else', () => {
  expect(faults({ NODE_ENV: 'production' })).toEqual([
    'PUBLIC_URL must be set',
    'TEMPORAL_ADDRESS must be set',
    'DATA_REGION must be set',
  ])
  const address = { PUBLIC_URL: 'https://mail.example.com', TEMPORAL_ADDRESS: 'temporal.internal:7233' }
  const required = { ...address, DATA_REGION: 'eu' }
  expect(config({ NODE_ENV: 'production', ...required })).toMatchObject({ production: true, drainGraceMs: 5_000 })
})

test("the simulator's inbox shows the content of messages, so it is refused in production", () => {
  const address = { PUBLIC_URL: 'https://mail.example.com', TEMPORAL_ADDRESS: 'a:7233', DATA_REGION: 'eu' }
  const production = { NODE_ENV: 'production', ...address }
  const why = 'SIMULATOR_INBOX must not be true in production: it shows the content of messages'
  expect(faults({ ...production, SIMULATOR_INBOX: 'true' })).toEqual([why])
  expect(config({ ...production, SIMULATOR_INBOX: 'false' }).simulatorInbox).toBe(false)
  expect(config({ SIMULATOR_INBOX: 'true' }).simulatorInbox).toBe(true)
  expect(config({}).simulatorInbox).toBe(false)
})

test.each([
  [undefined, 'must be set when DNSSEC is trust'],
  ['192.0.2.53', 'must be loopback or private addresses when DNSSEC is trust'],
  ['127.0.0.1,8.8.8.8:53', 'must be loopback or private addresses'],
  ['[2001:4860:4860::8888]:53', 'must be loopback or private addresses'],
  ['169.254.169.253', 'must be loopback or private addresses'],
])('DNSSEC=trust with DNS_SERVERS=%s is a fault: a forged answer could set the bit', (servers, why) => {
  expect(faults({ DNSSEC: 'trust', ...(servers && { DNS_SERVERS: servers }) })).toEqual([
    expect.stringMatching(new RegExp(`^DNS_SERVERS ${why}`)),
  ])
})

test.each(['127.0.0.1', '127.0.0.53:53,10.1.2.3', '[::1]:5353', 'fd00::53,192.168.1.1', '::ffff:127.0.0.1'])(
  'DNSSEC=trust believes the resolvers %s',
  (servers) => {
    expect(config({ DNSSEC: 'trust', DNS_SERVERS: servers }).dnssec).toBe('trust')
  },
)

test('history that must not be lost needs a place', () => {
  expect(faults({ HISTORY_ARCHIVE_REQUIRED: 'true' })).toEqual([
    'HISTORY_ARCHIVE must be set when HISTORY_ARCHIVE_REQUIRED is true',
  ])
  expect(faults({ HISTORY_ARCHIVE_REQUIRED: 'true', HISTORY_ARCHIVE: '/srv/history' })).toEqual([])
})

test('no fault repeats the value of a variable: it may be a secret', () => {
  const messages = faults({
    DATABASE_URL: 'mysql://u:hunter2@db',
    ENCRYPTION_KEYS: 'k1:hunter2',
    PUBLIC_URL: 'hunter2',
  })
  expect(messages).toHaveLength(3)
  expect(messages.join()).not.toContain('hunter2')
})

test('a certificate and its key are read', () => {
  const [certFile, keyFile] = [file('tls.crt', CERT), file('tls.key', CERT_KEY)]
  const settings = config({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile })
  const variables = { certVariable: 'TLS_CERT_FILE', keyVariable: 'TLS_KEY_FILE' }
  expect(settings.tls).toEqual({ cert: CERT, key: CERT_KEY, certFile, keyFile, ...variables })
  expect(settings.smtpFrontCertificate).toBe(settings.tls)
})

test('a certificate without its key, with the key of another, or that is not a certificate, is a fault', () => {
  const TLS_CERT_FILE = file('tls.crt', CERT)
  const stranger = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  expect(faults({ TLS_CERT_FILE })).toEqual(['TLS_KEY_FILE must be set when TLS_CERT_FILE is'])
  expect(faults({ TLS_CERT_FILE, TLS_KEY_FILE: file('other.key', stranger) })).toEqual([
    'TLS_KEY_FILE must name the key of the certificate in TLS_CERT_FILE',
  ])
  expect(faults({ TLS_CERT_FILE: file('bad.crt', 'x'), TLS_KEY_FILE: TLS_CERT_FILE })).toEqual([
    'TLS_CERT_FILE must name a PEM file with a certificate',
    'TLS_KEY_FILE must name a PEM file with a private key without a passphrase',
  ])
})

test('the connection to Temporal is plain text, unless an API key or a TLS file is set', () => {
  const temporal = (env: Record<string, string>) => config({ TEMPORAL_ADDRESS: 'localhost:7233', ...env }).temporal
  const system = { ca: undefined, client: undefined, serverName: undefined }
  expect(temporal({})?.tls).toBeUndefined()
  expect(temporal({ TEMPORAL_TLS: 'true' })?.tls).toEqual(system)
  expect(temporal({ TEMPORAL_API_KEY: 'k' })).toMatchObject({ apiKey: 'k', tls: system })
  const [cert, key] = [file('temporal.crt', CERT), file('temporal.key', CERT_KEY)]
  const mutual = { TEMPORAL_TLS_CERT_FILE: cert, TEMPORAL_TLS_KEY_FILE: key }
  expect(temporal(mutual)?.tls).toEqual({ ...system, client: { cert: CERT, key: CERT_KEY } })
  const own = { TEMPORAL_TLS_CA_FILE: cert, TEMPORAL_TLS_SERVER_NAME: 'temporal.example.com' }
  expect(temporal(own)?.tls).toEqual({ ...system, ca: CERT, serverName: 'temporal.example.com' })
})

test('an API key in plain text, or half a client certificate, is a fault', () => {
  expect(faults({ TEMPORAL_API_KEY: 'k', TEMPORAL_TLS: 'false' })).toEqual([
    'TEMPORAL_TLS must not be false when TEMPORAL_API_KEY is set',
  ])
  expect(faults({ TEMPORAL_TLS_KEY_FILE: file('temporal.key', CERT_KEY) })).toEqual([
    'TEMPORAL_TLS_CERT_FILE must be set when TEMPORAL_TLS_KEY_FILE is',
  ])
})

test.each([
  ['SMTP_ROUTE', 'SMTP_ROUTES'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['send_budget_ms', 'SEND_BUDGET_MS'],
  ['DATABSAE_URL', 'DATABASE_URL'],
  ['SMTP_ALOW_SUBNETS', 'SMTP_ALLOW_SUBNETS'],
  ['DATA_REGIUN', 'DATA_REGION'],
])('%s is a warning: was %s meant?', (name, meant) => {
  const reading = readConfig({ ...least, [name]: '1' })
  expect(reading).toMatchObject({ warnings: [`${name} is no variable of this service. Was ${meant} meant?`] })
})

test('variables of other programs cause no warning', () => {
  const others = {
    HOME: '/',
    POST: '1',
    HOSTS: '1',
    PATH: '/bin',
    SSL_CERT_FILE: '/x',
    PGPORT: '1',
    OTEL_SERVICE_NAME: 'x',
  }
  expect(readConfig({ ...least, ...others })).toMatchObject({ warnings: [] })
})

test('a command that needs some variables only is not warned of the others', () => {
  expect(readVariables({ ...least, PORT: 'x' }, ['databaseUrl'])).toEqual({
    variables: { databaseUrl: least.DATABASE_URL },
  })
  expect(readVariables({ PORT: 'x' }, ['databaseUrl'])).toMatchObject({ faults: [{ name: 'DATABASE_URL' }] })
})

test('reported faults are printed in one paragraph each, with misspelt names, and the process exits with 78', () => {
  const script = `import { readConfig, reportFaults } from './server/config/config.ts'
    const reading = readConfig({ PORT: 'x', DATABASE_URL: 'postgres://db/verdict' })
    if ('faults' in reading) reportFaults(reading.faults)`
  const { status, stderr, stdout } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', script], {
    encoding: 'utf8',
    env: { ...process.env, ENCRYPTION_KEY: 'k1' },
  })
  expect({ status, stdout }).toEqual({ status: 78, stdout: '' })
  expect(stderr).toBe(`The configuration is faulty:
  PORT must be a whole number from 0 to 65535
    example: PORT=8080
  ENCRYPTION_KEYS must be set
    example: ENCRYPTION_KEYS="k1:$(openssl rand -base64 32)"
  ENCRYPTION_KEY is no variable of this service. Was ENCRYPTION_KEYS meant?
`)
})

test('TIERS_FILE replaces tiers, warm-up and breaker limits; a missing value keeps its default', () => {
  const TIERS_FILE = file(
    'tiers.json',
    JSON.stringify({
      tiers: { free: { requests_per_minute: 10 }, gold: { requests_per_minute: 60_000 } },
      warmup: [100, 200],
      breaker: { min_emails: 50, open_minutes: 5 },
    }),
  )
  expect(config({ TIERS_FILE, DEFAULT_TIER: 'gold' }).limits).toEqual({
    tiers: { ...DEFAULT_LIMITS.tiers, free: { requestsPerMinute: 10 }, gold: { requestsPerMinute: 60_000 } },
    defaultTier: 'gold',
    warmUp: [100, 200],
    breaker: { ...DEFAULT_LIMITS.breaker, minEmails: 50, openMinutes: 5 },
    pools: {},
    shaping: [],
  })
  expect(config({ TIERS_FILE: file('empty.json', '{}') }).limits).toEqual(DEFAULT_LIMITS)
})

test('TIERS_FILE names pools of addresses, the pool of a tier, and the limits of sites', () => {
  const TIERS_FILE = file(
    'pools.json',
    JSON.stringify({
      tiers: { pro: { requests_per_minute: 600, emails_per_month: 3_000, pool: 'main' } },
      pools: {
        main: { addresses: ['192.0.2.25', '2001:db8::25'] },
        fresh: { addresses: ['192.0.2.26'], warm_up: true },
      },
      shaping: [
        { site: 'Google.com', connections: 20, messages_per_connection: 60, per_minute: 6_000 },
        { site: 'bücher.example', per_minute: 60 },
        { site: '192.0.2.9', connections: 1 },
      ],
    }),
  )
  expect(config({ TIERS_FILE }).limits).toMatchObject({
    tiers: { pro: { requestsPerMinute: 600, pool: 'main', emailsPerMonth: 3_000 } },
    pools: {
      main: { addresses: ['192.0.2.25', '2001:db8::25'], warmsUp: false },
      fresh: { addresses: ['192.0.2.26'], warmsUp: true },
    },
    shaping: [
      { site: 'google.com', connections: 20, messages: 60, perMinute: 6_000 },
      { site: 'xn--bcher-kva.example', perMinute: 60 },
      { site: '192.0.2.9', connections: 1 },
    ],
  })
})

test.each([
  ['{"pools": []}', 'pools must be an object'],
  ['{"pools": {"Main": {"addresses": ["192.0.2.1"]}}}', 'pools.Main must be named by 1 to 32 of'],
  ['{"pools": {"main": {}}}', 'pools.main.addresses must be a list of 1 to 1000 IP addresses, none of them twice'],
  ['{"pools": {"main": {"addresses": ["mail.example"]}}}', 'pools.main.addresses must be a list of 1 to 1000'],
  ['{"pools": {"main": {"addresses": ["192.0.2.1", "192.0.2.1"]}}}', 'none of them twice'],
  ['{"pools": {"main": {"addresses": ["192.0.2.1"], "warm_up": 1}}}', 'pools.main.warm_up must be true or false'],
  ['{"pools": {"main": {"address": "192.0.2.1"}}}', 'pools.main has no field "address"; there are addresses, warm_up'],
  ['{"tiers": {"pro": {"requests_per_minute": 1, "pool": "main"}}}', 'tiers.pro.pool must be one of pools'],
  ['{"tiers": {"pro": {"requests_per_minute": 1, "pool": "toString"}}}', 'tiers.pro.pool must be one of pools'],
  [
    '{"tiers": {"pro": {"requests_per_minute": 1, "emails_per_month": 0}}}',
    'tiers.pro.emails_per_month must be a whole number from 1 to 1000000000',
  ],
  ['{"shaping": {}}', 'shaping must be a list of at most 1000 sites'],
  ['{"shaping": [7]}', 'shaping[0] must be an object'],
  ['{"shaping": [{"connections": 1}]}', 'shaping[0].site must be the end of a mail exchanger name, or a domain'],
  ['{"shaping": [{"site": "a b", "connections": 1}]}', 'shaping[0].site must be the end of a mail exchanger name'],
  ['{"shaping": [{"site": "a.example"}]}', 'shaping[0] must have one of connections, messages_per_connection, per_min'],
  ['{"shaping": [{"site": "a.example", "connections": 0}]}', 'shaping[0].connections must be a whole number from 1'],
  ['{"shaping": [{"site": "a.example", "per_minute": 1.5}]}', 'shaping[0].per_minute must be a whole number from 1'],
  ['{"shaping": [{"site": "a.example", "rate": 1}]}', 'shaping[0] has no field "rate"; there are site, connections'],
  [
    '{"shaping": [{"site": "a.example", "per_minute": 1}, {"site": "A.example.", "connections": 1}]}',
    'shaping names a.example twice',
  ],
  ['[]', 'the whole must be an object'],
  ['{"tier": {}}', 'the whole has no field "tier"; there are tiers, warmup, breaker, pools, shaping'],
  ['{"tiers": {"free": 60}}', 'tiers.free must be an object'],
  ['{"tiers": {"free": {}}}', 'tiers.free.requests_per_minute must be a whole number from 1 to 1000000000'],
  ['{"tiers": {"free": {"requests_per_minute": 0}}}', 'must be a whole number from 1 to 1000000000'],
  ['{"tiers": {"free": {"requests_per_minute": "60"}}}', 'must be a whole number from 1 to 1000000000'],
  ['{"tiers": {"__proto__": {"requests_per_minute": 1}}}', 'tiers.__proto__ must be named by 1 to 32 of'],
  ['{"warmup": [500, -1]}', 'warmup must be a list of at most 60 whole numbers from 1 to 1000000000'],
  ['{"warmup": 500}', 'warmup must be a list of at most 60 whole numbers from 1 to 1000000000'],
  ['{"breaker": {"bounce_open": 10}}', 'breaker.bounce_open must be a number from 0 to 1'],
  ['{"breaker": {"min_emails": 1.5}}', 'breaker.min_emails must be a whole number from 1 to 1000000'],
  ['{"breaker": {"bounce_warn": 0.2}}', 'breaker.bounce_warn must not be above bounce_open'],
  ['{"breaker": {"complaint_open": 0}}', 'breaker.complaint_warn must not be above complaint_open'],
])('TIERS_FILE with %s: %s', (text, why) => {
  const [message, ...more] = faults({ TIERS_FILE: file('faulty.json', text) })
  expect(message).toContain('TIERS_FILE must name a file of limits without fault: ')
  expect(message).toContain(why)
  expect(more).toEqual([])
})

test('all faults of the TIERS_FILE are reported at once', () => {
  const text = '{"warmup": 1, "tiers": {"A": {"requests_per_minute": 1}}, "breaker": {"x": 1, "min_emails": 0}}'
  expect(faults({ TIERS_FILE: file('faulty.json', text), PORT: 'x' })).toEqual([
    'PORT must be a whole number from 0 to 65535',
    'TIERS_FILE must name a file of limits without fault: ' +
      'tiers.A must be named by 1 to 32 of a-z, 0-9, _ and -, a letter first; ' +
      'warmup must be a list of at most 60 whole numbers from 1 to 1000000000; ' +
      'breaker has no field "x"; there are min_emails, bounce_warn, bounce_open, complaint_warn, complaint_open, ' +
      'open_minutes; breaker.min_emails must be a whole number from 1 to 1000000',
  ])
})

test('TIERS_FILE must name a readable JSON file, and DEFAULT_TIER one of the tiers', () => {
  expect(faults({ TIERS_FILE: '/nowhere/tiers.json' })).toEqual([
    'TIERS_FILE must name a file that can be read (ENOENT)',
  ])
  expect(faults({ TIERS_FILE: file('faulty.json', '{') })).toEqual(['TIERS_FILE must name a file of JSON'])
  expect(faults({ DEFAULT_TIER: 'constructor' })).toEqual(['DEFAULT_TIER must be one of free, pro, scale, unlimited'])
})

// A self-signed certificate for `localhost`, created for this test.
const CERT_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQBAitdwOCP6Gtx1p
ojaKI1Kbe8KcJxfQ4LawbMtSwgihRANCAAQXv4OCvh35qf02o1LRv10v71QqGgbw
rnOuvJEnbqNG1i2+1nBpKbJT9M5ZszeOo9iFPUufLiT4jXHJnfuYGPFO
-----END PRIVATE KEY-----
`
const CERT = `-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUDPcOPEtaVG6IpKGWn8MhtdCQYMUwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA0MjM0OFoYDzIxMjYxMDI4
MDQyMzQ4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQXv4OCvh35qf02o1LRv10v71QqGgbwrnOuvJEnbqNG1i2+1nBpKbJT
9M5ZszeOo9iFPUufLiT4jXHJnfuYGPFOo2kwZzAdBgNVHQ4EFgQUn9tl6lwdXkme
T/DdHSJ9MfNXxF8wHwYDVR0jBBgwFoAUn9tl6lwdXkmeT/DdHSJ9MfNXxF8wDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
SAAwRQIgNIW/vgg7Msmd0353SxUK5T8limNCgfF3UaAP8iQIgzUCIQCiGDiKdtoX
r1Ap5dNeO9NYo0PcRIvPkD9+2Bsvi87Y4w==
-----END CERTIFICATE-----
`

test('an SMTP front beyond loopback needs a certificate, and so does implicit TLS', () => {
  const faultsOf = (env: Record<string, string>) => faults(env).map((fault) => fault.split(' ')[0])
  expect(faultsOf({ SMTP_FRONT_PORT: '2587' })).toEqual([])
  expect(faultsOf({ SMTP_FRONT_PORT: '2587', SMTP_FRONT_HOST: '0.0.0.0' })).toEqual(['SMTP_FRONT_CERT_FILE'])
  expect(faultsOf({ SMTP_FRONT_LMTP_PORT: '2424' })).toEqual([])
  expect(faultsOf({ SMTP_FRONT_LMTP_PORT: '2424', SMTP_FRONT_HOST: '0.0.0.0' })).toEqual(['SMTP_FRONT_CERT_FILE'])
  expect(faultsOf({ SMTP_FRONT_TLS_PORT: '2465' })).toEqual(['SMTP_FRONT_CERT_FILE'])
  expect(faultsOf({ SMTP_FRONT_PORT: '2587', SMTP_FRONT_RECIPIENTS: 'one' })).toEqual(['SMTP_FRONT_RECIPIENTS'])
})

test('an SMTP front behind a TLS proxy has a certificate of its own, and the port has none', () => {
  const [certFile, keyFile] = [file('front.crt', CERT), file('front.key', CERT_KEY)]
  const front = { SMTP_FRONT_PORT: '2587', SMTP_FRONT_HOST: '0.0.0.0', SMTP_FRONT_CERT_FILE: certFile }
  const settings = config({ ...front, SMTP_FRONT_KEY_FILE: keyFile })
  expect(settings.smtpFrontCertificate).toMatchObject({ cert: CERT, certFile, keyVariable: 'SMTP_FRONT_KEY_FILE' })
  expect(settings.tls).toBeUndefined()
  expect(faults(front)).toEqual(['SMTP_FRONT_KEY_FILE must be set when SMTP_FRONT_CERT_FILE is'])
})
