import { expect, test } from 'vitest'
import { sessions } from '../../server/db/people-schema.ts'
import { signIn } from '../harness/person.ts'
import { startApi } from '../services/api.ts'

// What a page of another site can make a signed-in browser send: GET by a link, POST by a form, and whatever fetch
// sends without asking first (the safelisted headers of the Fetch standard). The cookie must make no difference. The
// routes are those of the whole API.

const api = await startApi(undefined, undefined, { http: { trustProxy: ['127.0.0.0/8'] } })
const { db, clock, sealer, account } = api.world
const person = await signIn({ db, clock, sealer }, { accountId: account.id })

/** Content types that need no preflight, and those that a careless parser takes for one of them. */
const SIMPLE = [
  'text/plain',
  'text/plain;charset=UTF-8',
  'text/plain; application/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=application/json',
  undefined,
]

const routes = () =>
  api.app.paths.flatMap(({ path, verbs }) =>
    verbs
      .filter((verb) => /^(GET|POST)$/.test(verb))
      .map((verb) => ({ verb, path: path.replaceAll(/\{[^}]*\}|:\w+/g, 'x').replace('*', 'x') })),
  )

/** Each request comes from its own address: none is over a limit. */
let requests = 0
const from = () => ({ 'x-forwarded-for': `198.18.${++requests >> 8}.${requests & 255}` })

const EVIL = { origin: 'https://evil.example', referer: 'https://evil.example/' }

/** A method of Connect that has no side effects may be called by GET. */
const QUERY = '?connect=v1&encoding=json&message=%7B%7D'

async function ask(verb: string, path: string, type: string | undefined, cookie: string | undefined) {
  const isRpc = path.startsWith('/verdict.')
  const response = await fetch(api.url + path + (isRpc && verb === 'GET' ? QUERY : ''), {
    method: verb,
    redirect: 'manual',
    headers: { ...EVIL, ...from(), ...(cookie && { cookie }), ...(type && { 'content-type': type }) },
    // Without its own type.
    body: verb === 'POST' ? Buffer.from('{}') : undefined,
  })
  const text = await response.text()
  const { headers } = response
  return {
    status: response.status,
    text: headers.get('content-type')?.includes('json') ? text.replace(/"request_id":"[^"]*"/, '') : '',
    setCookies: headers.getSetCookie(),
    allowed: [...headers.keys()].filter((name) => name.startsWith('access-control-')),
  }
}

test('no request that needs no preflight is served by the cookie, on any route', async () => {
  const all = routes()
  expect(all.length).toBeGreaterThan(100)
  for (const { verb, path } of all) {
    for (const type of verb === 'POST' ? SIMPLE : [undefined]) {
      const [with_, without] = [await ask(verb, path, type, person.cookie), await ask(verb, path, type, undefined)]
      // Health counts its seconds.
      if (path === '/readyz') continue
      expect({ verb, path, type, ...with_ }).toEqual({ verb, path, type, ...without })
      expect(with_.status).not.toBe(429)
      expect([verb, path, with_.allowed, with_.setCookies]).toEqual([verb, path, [], []])
    }
  }
})

test('no route lets another origin send or read more: a preflight is granted nothing', async () => {
  for (const { path } of routes()) {
    const { headers } = await fetch(api.url + path, {
      method: 'OPTIONS',
      headers: {
        ...EVIL,
        ...from(),
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,connect-protocol-version,verdict-account',
        'access-control-request-private-network': 'true',
      },
    })
    expect([path, [...headers.keys()].filter((name) => name.startsWith('access-control-'))]).toEqual([path, []])
  }
})

const AUTH = () => routes().filter(({ path }) => path.startsWith('/api/auth/'))

test.each([
  ['of another site', 'https://evil.example'],
  ['of a name that begins with ours', 'http://127.0.0.1.evil.example'],
  ['of another port of this machine', 'http://127.0.0.1:1'],
  ['of this machine by another name', 'http://localhost:1'],
  ['that is opaque', 'null'],
  ['that is empty', ''],
  ['with the name of ours as its user', 'http://127.0.0.1@evil.example'],
])('a page %s cannot use the sign-in of a person, even if it could send JSON', async (_, origin) => {
  const bodies: Record<string, object> = {
    '/api/auth/sign-in/email': { email: person.email, password: 'x' },
    '/api/auth/change-password': { currentPassword: 'x', newPassword: 'a new password' },
    '/api/auth/two-factor/verify-totp': { code: '000000' },
    '/api/auth/two-factor/verify-backup-code': { code: 'aaaaa-bbbbb' },
    '/api/auth/oidc/start': { purpose: 'link' },
    '/api/auth/oidc/finish': { response: 'x' },
    '/api/auth/sign-out': {},
  }
  for (const { path } of AUTH()) {
    const response = await fetch(api.url + path, {
      method: 'POST',
      headers: { ...from(), origin, cookie: person.cookie, 'content-type': 'application/json' },
      body: JSON.stringify(bodies[path] ?? { password: 'x' }),
    })
    const { error } = JSON.parse(await response.text())
    // Without an issuer its paths are not found.
    expect([path, error]).toEqual([path, path.includes('/oidc/') ? 'not_found' : 'wrong_origin'])
  }
  expect(await api.world.db.$count(sessions)).toBe(1)
})
