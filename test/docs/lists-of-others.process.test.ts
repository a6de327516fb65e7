import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readAddressList } from '../../address-files/address-list.ts'
import { listenUntilEnd, temporaryFolder } from '../harness/until-end.ts'
import { snippets } from './snippets.ts'

// The loops of the guides that fetch a list page by page, against a service that pages, limits and fails.

/** Each guide's service: how it pages, and the files that its loop writes. */
const SERVICES = [
  {
    guide: 'sendgrid',
    host: 'https://api.sendgrid.com',
    files: ['bounces', 'invalid_emails', 'spam_reports', 'unsubscribes'].map((list) => `sendgrid-${list}.jsonl`),
    page: (url: URL, addresses: string[]) => {
      const offset = Number(url.searchParams.get('offset'))
      return offset < 1_500 ? [{ email: addresses[offset / 500] }] : []
    },
  },
  {
    guide: 'mailgun',
    host: 'https://api.mailgun.net',
    files: ['bounces', 'complaints', 'unsubscribes'].map((list) => `mailgun-${list}.jsonl`),
    page: (url: URL, addresses: string[]) => {
      const at = Number(url.searchParams.get('page') ?? 0)
      const next = `${url.origin}${url.pathname}?page=${at + 1}`
      return { items: at < 3 ? [{ address: addresses[at] }] : [], paging: { next } }
    },
  },
  {
    guide: 'resend',
    host: 'https://api.resend.com',
    files: ['suppressions.jsonl'],
    page: (url: URL, addresses: string[]) => {
      const at = Number(url.searchParams.get('after') ?? -1) + 1
      return { has_more: at < 2, data: [{ id: String(at), email: addresses[at], origin: 'bounce' }] }
    },
  },
]
const ADDRESSES = ['ann@a.test', 'bob@b.test', 'cy@c.test']

/** Runs the loop of a guide. `fault` is the status of a response in place of a page. */
async function runLoop({ guide, host, page }: (typeof SERVICES)[number], fault: (call: number) => number | undefined) {
  let calls = 0
  const server = createServer((request, response) => {
    const status = fault(++calls)
    if (status) return response.writeHead(status, { 'retry-after': '1' }).end('[]')
    const url = new URL(request.url!, `http://${request.headers.host}`)
    response.end(JSON.stringify(page(url, ADDRESSES), null, 1))
  })
  const folder = temporaryFolder()
  mkdirSync(join(folder, '.verdict'))
  const all = snippets(readFileSync(`docs/migrating/${guide}.md`, 'utf8'))
  const loop = all.find(({ text, mark }) => mark === 'not-run=another-service' && text.includes('while :'))!.text
  const shell = loop.replaceAll(host, `http://127.0.0.1:${await listenUntilEnd(server)}`)
  const env = { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env.PATH}` }
  const ran = await promisify(execFile)('sh', ['-c', shell], { cwd: folder, env }).catch((error) => error)
  return { code: ran.code ?? 0, stderr: String(ran.stderr), pathOf: (file: string) => join(folder, '.verdict', file) }
}

test.for(SERVICES)('the loop of $guide reads every page, also after a 429 and a 503', async (service) => {
  const { code, pathOf } = await runLoop(service, (call) => ({ 2: 429, 4: 503 })[call])
  expect(code).toBe(0)
  for (const file of service.files) {
    const { addresses } = readAddressList(readFileSync(pathOf(file)))
    expect(addresses.map(({ email }) => email)).toEqual(ADDRESSES)
  }
})

test.for(SERVICES)('when a page of $guide stays away, no half list is left', async (service) => {
  const { code, stderr, pathOf } = await runLoop(service, (call) => (call === 2 ? 403 : undefined))
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('is missing: run it again later.') })
  expect(existsSync(pathOf(service.files[0]!))).toBe(false)
})
