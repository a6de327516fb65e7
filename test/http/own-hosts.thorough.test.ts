import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { signIn } from '../harness/person.ts'
import { startApi } from '../services/api.ts'
import { talk } from './requests.ts'

// The dashboard answers only under the names of this installation, and all else under every name. The routes are those
// of the whole API: one that is added later is the dashboard's, unless it is listed here.

const NAMES = ['mail.example.com', 'xn--bcher-kva.example', 'only.example:8443']

/** Paths for programs, probes and readers without a session. */
const FOR_EVERYBODY =
  /^\/(api\/v1\/.*|verdict\.v1\..*|grpc\.(health|reflection)\..*|docs(\/.*)?|guides(\/.*)?|healthz|readyz|\.well-known\/jwks\.json)?$/

const api = await startApi(undefined, undefined, { http: { allowedHosts: NAMES } })
const port = Number(new URL(api.url).port)
const { db, clock, sealer, account } = api.world
const person = await signIn({ db, clock, sealer }, { accountId: account.id })

interface Route {
  verb: string
  path: string
}

const routes = () =>
  api.app.paths.flatMap(({ path, verbs }) => {
    const filled = path.replaceAll(/\{[^}]*\}|:\w+/g, 'x').replace('*', 'x')
    return verbs.filter((verb) => verb !== 'OPTIONS').map((verb): Route => ({ verb, path: filled }))
  })

const isDashboard = ({ path }: Route) => !FOR_EVERYBODY.test(path)

/** The status of a request with these lines of Host, and the message of an error. */
async function ask({ verb, path }: Route, hosts: string[], headers: Record<string, string> = {}) {
  const lines = [
    ...hosts.map((host) => `Host: ${host}`),
    ...Object.entries({ 'content-type': 'application/json', 'content-length': '2', ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
  ]
  const bytes = `${verb} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\nconnection: close\r\n\r\n{}`
  const received = await talk(port, Buffer.from(bytes, 'latin1'), undefined, hasHead)
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(received)![1]), received }
}

/** The body of a refusal. */
async function refusalAs(path: string, host: string) {
  const received = await talk(port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  return JSON.parse(received.split('\r\n\r\n', 2)[1]!)
}

/** Streams and pages go on after it. */
const hasHead = (text: string) => text.includes('\r\n\r\n')

const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,8}[a-z0-9])?$/)
const digits = fc.integer({ min: 1, max: 65_535 }).map(String)
const anyCase = (text: string) =>
  fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map((upper) => [...text].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter)).join(''))
const withPort = (names: fc.Arbitrary<string>) =>
  fc.tuple(names, fc.option(digits)).map(([name, at]) => (at === null ? name : `${name}:${at}`))
const dotted = (names: fc.Arbitrary<string>) => fc.tuple(names, fc.constantFrom('', '.')).map((parts) => parts.join(''))

const ours = fc.oneof(
  withPort(dotted(fc.constantFrom('mail.example.com', 'xn--bcher-kva.example', 'localhost').chain(anyCase))),
  withPort(label.map((name) => `${name}.localhost`)),
  fc.constantFrom('only.example:8443', 'ONLY.example.:8443'),
  withPort(fc.ipV4()),
  withPort(fc.ipV6().map((address) => `[${address}]`)),
)

const STRANGE = [
  'evil.example',
  'mail.example.com.evil.example',
  'evil-mail.example.com',
  'example.com',
  'www.mail.example.com',
  'mail.example.com..',
  'localhost.evil.example',
  'notlocalhost',
  '127.0.0.1.evil.example',
  '127.1',
  '2130706433',
  '0x7f000001',
  '[::1',
  '::1',
  '[evil.example]',
  '[127.0.0.1]',
  'only.example',
  'only.example:8444',
  'mail.example.com@evil.example',
  'evil.example@mail.example.com',
  'mail.example.com:80@evil.example',
  'mail.example.com, evil.example',
  'mail.example.com evil.example',
  'mail.example.com/evil.example',
  'mail.example.com#evil.example',
  'mail.example.com:port',
  'bücher.example',
  '.',
  ':80',
  '',
]
const strange = fc.oneof(
  withPort(dotted(fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => [...labels, 'test'].join('.')))),
  label.filter((name) => name !== 'localhost'),
  fc.constantFrom(...STRANGE),
  fc.tuple(label, ours).map(([user, host]) => `${user}@${host}`),
)

test('the dashboard is more than its pages: every route is known as of one kind or the other', () => {
  const found = routes()
  const kinds = [...new Set(found.filter(isDashboard).map(({ path }) => path.split('/').slice(0, 3).join('/')))]
  expect(kinds).toEqual(
    expect.arrayContaining([
      '/dashboard',
      '/dashboard/frame',
      '/api/auth',
      '/verdict.admin.v1.PersonService/GetPerson',
    ]),
  )
  expect(found.filter((route) => !isDashboard(route)).length).toBeGreaterThan(50)
})

test('a strange host gets 421 from every route of the dashboard, with or without a session, and from no other', async () => {
  const callers = [{}, person.headers, { authorization: `Bearer ${api.keys.live}` }]
  const cases = routes().flatMap((route) => callers.map((headers) => ({ route, headers })))
  const [hosts, owns] = [fc.sample(strange, cases.length), fc.sample(ours, cases.length)]
  // A few at a time, so that no connection waits for the others.
  for (let at = 0; at < cases.length; at += 20) {
    await Promise.all(
      cases.slice(at, at + 20).map(async ({ route, headers }, i) => {
        const [host, own] = [hosts[at + i]!, owns[at + i]!]
        const isSession = 'cookie' in headers && route.path.startsWith('/verdict.v1.') && route.verb === 'POST'
        const { status } = await ask(route, [host], headers)
        expect([route, host, status === 421]).toEqual([route, host, isDashboard(route) || isSession])
        expect([route, own, (await ask(route, [own], headers)).status === 421]).toEqual([route, own, false])
      }),
    )
  }
})

test('a page is served under our hosts in every form of them', async () => {
  const page = { verb: 'GET', path: '/dashboard' }
  await fc.assert(
    fc.asyncProperty(ours, async (host) => {
      expect((await ask(page, [host])).status).not.toBe(421)
    }),
    { numRuns: 200 },
  )
  for (const host of STRANGE) expect([host, (await ask(page, [host])).status]).toEqual([host, 421])
})

test('every name of a request counts: of the target, of HTTP/2, and of two headers', async () => {
  const page = { verb: 'GET', path: '/dashboard' }
  expect((await ask(page, [])).status).toBe(400)
  expect((await ask(page, ['localhost', 'localhost'])).status).toBe(400)
  await fc.assert(
    fc.asyncProperty(ours, strange, async (own, other) => {
      const absolute = (host: string) => ({ verb: 'GET', path: `http://${host}/dashboard` })
      // The router may read a path in what a strange host holds: then there is nothing at it.
      expect((await ask(absolute(other), [own])).status).toBeGreaterThanOrEqual(400)
      expect((await ask(absolute(own), [other])).status).toBe(421)
      expect((await ask(absolute(own), [own])).status).not.toBe(421)
    }),
    { numRuns: 50 },
  )
  const session = connectHttp2(api.url)
  const status = async (headers: Record<string, string>) => {
    const stream = session.request({ ':path': '/dashboard', ...headers })
    const [head] = await once(stream, 'response')
    stream.resume()
    return head[':status']
  }
  expect(await status({ ':authority': 'mail.example.com' })).not.toBe(421)
  expect(await status({ ':authority': 'evil.example' })).toBe(421)
  expect(await status({ ':authority': 'mail.example.com', host: 'evil.example' })).toBe(421)
  session.destroy()
})

test('a forwarded host is not trusted, and the refusal names the host and the way out', async () => {
  const page = { verb: 'GET', path: '/dashboard' }
  const forwarded = { 'x-forwarded-host': 'mail.example.com', forwarded: 'host=mail.example.com' }
  expect((await ask(page, ['evil.example'], forwarded)).status).toBe(421)
  expect((await ask(page, ['mail.example.com'], { 'x-forwarded-host': 'evil.example' })).status).not.toBe(421)
  const refused = await refusalAs(page.path, 'evil.example')
  expect(refused).toMatchObject({ error: 'wrong_host' })
  expect(refused.message).toMatch(/"evil\.example".*PUBLIC_URL.*ALLOWED_HOSTS/)
})

test('a person signs in and out at each of our hosts, from a page of that very host and port', async () => {
  const signOut = async (host: string, origin: string) =>
    (await ask({ verb: 'POST', path: '/api/auth/sign-out' }, [host], { origin, cookie: person.cookie })).status
  await fc.assert(
    fc.asyncProperty(ours, ours, async (own, other) => {
      // As a browser writes them.
      const [page, elsewhere] = [new URL(`http://${own}`), new URL(`http://${other}`)]
      expect(await signOut(page.host, page.origin)).toBe(200)
      expect(await signOut(page.host, elsewhere.origin)).toBe(elsewhere.host === page.host ? 200 : 403)
      expect(await signOut(page.host, `http://${page.hostname}:1`)).toBe(page.port === '1' ? 200 : 403)
      expect(await signOut(page.host, 'null')).toBe(403)
    }),
    { numRuns: 15 },
  )
})
