import { globSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import type { DescFile } from '@bufbuild/protobuf'
import type { BrowserContext, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { SIGN_IN_PATHS } from '../../../server/access/people/sign-in-fields.ts'
import { type Exchanger, startExchanger } from '../../harness/exchanger.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import { listenUntilEnd, untilEnd } from '../../harness/until-end.ts'
import { loaded } from './browser.ts'
import { firstDomain, firstInInbox, type Installation, startInstallation, storeReplay } from './installation.ts'
import { type Owner, openOwner } from './owner.ts'
import { PAGES, pathOf } from './pages.ts'

// What an attacker would try on a person who is signed in, in Chromium: text that wants to be a page, a page of another
// origin of the same site, and a name that resolves to this machine.

/** Each of them sets `window.owned`, or leaves an element, when it is taken for more than text. */
const HOSTILE = [
  '<img src=/x data-owned onerror="window.owned=1">',
  '"><svg data-owned onload=window.owned=1>',
  "'-window.owned=1-'{{window.owned=1}}",
  '</script><script data-owned>window.owned=1</script>',
  'javascript:window.owned=1//',
  '<a data-owned href="javascript:window.owned=1">x</a>',
  '<iframe data-owned srcdoc="<script>top.owned=1</script>"></iframe>',
]
const ALL = HOSTILE.join(' ')

let exchanger: Exchanger
let receiver: Receiver
let installation: Installation
let owner: Owner
let context: BrowserContext
let faults: string[]
let page: Page
let messages: string[]

beforeAll(async () => {
  const reply = Buffer.from(`550 5.7.1 ${ALL}\r\n`)
  ;[exchanger, receiver] = await Promise.all([
    startExchanger({ rcpt: { raw: reply } }).then(untilEnd),
    startReceiver().then(untilEnd),
  ])
  receiver.script = { status: 500, body: ALL }
  installation = untilEnd(
    await startInstallation({
      SMTP_ROUTES: `hostile.example.com=127.0.0.1:${exchanger.port}`,
      SMTP_ALLOW_SUBNETS: '127.0.0.0/8',
      STORE_CONTENT: 'true',
    }),
  )
  ;({ context, faults, page, owner } = await openOwner(installation))
  await call('PUT', '/webhook', { url: receiver.url, events: ['email.delivery', 'email.feedback'] })
  messages = await sendHostile()
}, 240_000)

// biome-ignore lint/suspicious/noExplicitAny: any JSON
async function call(method: string, path: string, body?: object): Promise<any> {
  const { url, keys } = installation.ready
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${keys.live}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  return response.json()
}

/** A send for each hostile text in every field that takes it, to a server that refuses and to the inbox. */
async function sendHostile(): Promise<string[]> {
  const ids: string[] = []
  for (const [index, text] of HOSTILE.entries()) {
    const name = text.replaceAll(/["\\<>(),:;@[\]]/g, ' ')
    for (const to of ['ann@hostile.example.com', 'delivered@simulator.test']) {
      const sent = await call('POST', '/emails/send', {
        from: `"${text.replaceAll(/["\\]/g, '\\$&')}" <hello@example.test>`,
        to: [`"${name}" <${to}>`],
        subject: text,
        html: `<p>${text}</p>${ALL}`,
        text,
        headers: { 'X-Note': text },
        metadata: { [`key${index}`]: text },
        tag: text.slice(0, 64),
        tenant_id: text.slice(0, 64),
        attachments: [
          {
            filename: `${text}.svg`,
            content: Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${ALL}</svg>`).toString('base64'),
          },
          { filename: 'page.html', content: Buffer.from(`<script>window.owned=1</script>`).toString('base64') },
        ],
      })
      expect(sent, text).toHaveProperty('message_id')
      ids.push(sent.message_id)
    }
  }
  return ids
}

async function expectText(what: string): Promise<void> {
  for (const frame of page.frames()) {
    // A frame with a sandbox has no scripts of its own to ask.
    const owned = await frame.evaluate('window.owned').catch(() => undefined)
    expect([what, frame.url(), owned]).toEqual([what, frame.url(), undefined])
  }
  expect([what, await page.locator('[data-owned], a[href^="javascript:" i]').count()]).toEqual([what, 0])
}

test('no text from outside is more than text, on any page', async () => {
  const ids = {
    message: messages[0]!,
    domain: await firstDomain(installation),
    replay: await storeReplay(installation, owner.account),
    inbox: await firstInInbox(installation, page, owner.account),
  }
  const pages = PAGES.map(([, path]) => pathOf(path, ids))
  // Those that the server refused with hostile words.
  const details = messages.filter((_, i) => i % 2 === 0).map((id) => `/messages/${id}`)
  const filters = HOSTILE.map(
    (text) => `/messages?recipient=${encodeURIComponent(text)}&tag=${encodeURIComponent(text)}`,
  )
  for (const path of [...pages, ...details, ...filters]) {
    await page.goto(`${installation.ready.url}/dashboard/${owner.account}${path}`)
    await loaded(page)
    await expectText(path)
  }
  // The frame of a message asks for the image of its text, and its policy refuses it.
  const isRefusedImage = (fault: string) => /^Loading the image '[^']*\/x' violates .*"img-src data:"/.test(fault)
  expect(faults.filter((fault) => !isRefusedImage(fault))).toEqual([])
  expect(faults.some(isRefusedImage)).toBe(true)
})

test('a hostile path is a page of ours, and not more', async () => {
  for (const [i, text] of HOSTILE.entries()) {
    const path = [`/${encodeURIComponent(text)}`, `/${owner.account}/messages/${encodeURIComponent(text)}`, `#${text}`][
      i % 3
    ]!
    await page.goto(`${installation.ready.url}/dashboard${path}`)
    await page.locator('h1').first().waitFor()
    await expectText(path)
  }
})

test('an export has no cell that a spreadsheet runs', async () => {
  const formulas = ['=cmd|x', '+1', '-1', '@SUM(A1)', ' =1', '＝1']
  for (const subject of formulas)
    await call('POST', '/emails/send', { from: 'a@example.test', to: 'delivered@simulator.test', subject, text: 'x' })
  await page.goto(`${installation.ready.url}/dashboard/${owner.account}/messages`)
  await loaded(page)
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  const stream = await file.createReadStream()
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  const csv = Buffer.concat(chunks).toString()
  for (const formula of formulas) expect(csv).toContain(`"'${formula}"`)
  expect(csv).not.toMatch(/(^|,)"\s*[=+@＝-]/m)
})

/** What a session could change: the rows of tables that people change, and how many rows others have. */
async function stateOf(): Promise<object> {
  const { sql } = installation
  const whole = [
    'accounts',
    'people',
    'credentials',
    'second_factors',
    'members',
    'invitations',
    'domains',
    'dkim_keys',
  ]
  const more = ['suppressions', 'suppression_imports', 'range_replays', 'notification_choices', 'notification_urls']
  const counted = ['sessions', 'api_keys', 'webhook_endpoints', 'messages', 'audit_entries', 'erasures']
  const state: Record<string, unknown> = {}
  for (const table of [...whole, ...more]) {
    const rows = await sql`select to_jsonb(t)::text as row from ${sql(table)} t`
    state[table] = rows.map(({ row }) => row).sort()
  }
  for (const table of counted) state[table] = (await sql`select count(*) from ${sql(table)}`)[0]
  return state
}

/** Every method of both contracts, every path of REST that takes POST, and every path of the sign-in. */
async function changingPaths(): Promise<string[]> {
  const files = globSync('gen/verdict/{v1,admin/v1}/*_pb.ts')
  const modules: Record<string, unknown>[] = await Promise.all(files.map((file) => import(join(process.cwd(), file))))
  const isFile = (value: unknown): value is DescFile => (value as { kind?: string }).kind === 'file'
  const services = modules.flatMap((module) => Object.values(module).filter(isFile)).flatMap((file) => file.services)
  const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as { paths: Record<string, object> }
  return [
    ...services.flatMap(({ typeName, methods }) => methods.map(({ name }) => `/${typeName}/${name}`)),
    ...Object.keys(paths)
      .filter((path) => 'post' in paths[path]!)
      .map((path) => path.replaceAll(/\{\w+\}/g, 'x')),
    ...SIGN_IN_PATHS.map((path) => `/api/auth${path}`),
  ]
}

test('a page of another origin on the same site changes nothing and reads nothing', async () => {
  const { url } = installation.ready
  const evil = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>evil</title><body>')
  })
  const origin = `http://127.0.0.1:${await listenUntilEnd(evil)}`
  const victim = await context.newPage()
  const before = await stateOf()
  const arrived: string[] = []
  victim.on('response', (response) => {
    if (response.url().startsWith(url) && response.request().method() === 'POST')
      arrived.push(`${response.status()} ${new URL(response.url()).pathname}`)
  })
  await victim.goto(origin)
  const paths = await changingPaths()
  expect(paths.length).toBeGreaterThan(100)
  const script = `(async () => {
    const read = []
    for (const path of ${JSON.stringify(paths)}) {
      const to = ${JSON.stringify(url)} + path
      const body = JSON.stringify({ name: 'evil', email: 'evil@example.test', role: 1, kind: 1 })
      for (const type of ['text/plain', 'application/json']) {
        for (const mode of ['no-cors', 'cors']) {
          const headers = { 'content-type': type }
          if (mode === 'cors' && type !== 'text/plain') Object.assign(headers, { 'connect-protocol-version': '1', 'verdict-account': ${JSON.stringify(owner.account)} })
          await fetch(to, { method: 'POST', mode, credentials: 'include', headers, body })
            .then(async (response) => { const text = await response.text(); if (text) read.push(path + text) }, () => {})
        }
      }
      navigator.sendBeacon(to, new Blob([body], { type: 'text/plain' }))
      const frame = document.createElement('iframe')
      frame.name = 'f' + path
      document.body.append(frame)
      const form = document.createElement('form')
      Object.assign(form, { method: 'post', action: to, enctype: 'text/plain', target: frame.name })
      const input = document.createElement('input')
      Object.assign(input, { name: body.slice(0, -1) + ',"x":"', value: '"}' })
      form.append(input)
      document.body.append(form)
      const done = new Promise((resolve) => { frame.onload = resolve; frame.onerror = resolve })
      form.submit()
      await done
    }
    return read
  })()`
  expect(await victim.evaluate(script)).toEqual([])
  // Also what reads: frames of the dashboard and its pages, from another origin.
  const readable = await victim.evaluate(`fetch(${JSON.stringify(`${url}/dashboard`)}, { credentials: 'include' })
    .then((response) => response.text(), () => '')`)
  expect(readable).toBe('')
  expect(arrived.length).toBeGreaterThan(paths.length)
  expect(arrived.filter((line) => !/^(400|401|403|405|415|429) /.test(line))).toEqual([])
  const after = await stateOf()
  expect(after).toEqual(before)
  await victim.close()
})

test('the dashboard cannot be framed by another origin', async () => {
  const { url } = installation.ready
  const evil = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<iframe id=x src="${url}/dashboard"></iframe>`)
  })
  const port = await listenUntilEnd(evil)
  const victim = await context.newPage()
  await victim.goto(`http://127.0.0.1:${port}`)
  const framed = victim.frames().find((frame) => frame !== victim.mainFrame())!
  expect(await framed.evaluate('document.body?.innerText ?? ""').catch(() => '')).not.toMatch(/Sign in|Overview/)
  await victim.close()
})

test('under a name that was rebound to this machine the dashboard does not answer', async () => {
  const port = new URL(installation.ready.url).port
  const { browser } = await import('playwright-core').then(async ({ chromium }) => ({
    browser: await chromium.launch({
      executablePath: '/usr/bin/chromium',
      args: ['--no-sandbox', '--host-resolver-rules=MAP rebound.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
    }),
  }))
  const rebound = await browser.newPage()
  const response = await rebound.goto(`http://rebound.example:${port}/dashboard`)
  expect([response!.status(), await rebound.textContent('body')]).toEqual([
    421,
    expect.stringContaining('ALLOWED_HOSTS'),
  ])
  const status = await rebound.evaluate(`fetch('/api/auth/sign-in/email', { method: 'POST',
    headers: { 'content-type': 'application/json' }, body: '{"email":"owner@example.test","password":"correct horse battery"}' })
    .then(({ status }) => status)`)
  expect(status).toBe(421)
  await browser.close()
})
