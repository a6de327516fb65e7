import { createServer } from 'node:http'
import { beforeEach, expect, test, vi } from 'vitest'
import type { CliError, Output } from '../../cli/command.ts'
import { runCli } from '../../cli/run.ts'
import { listenUntilEnd } from '../harness/until-end.ts'
import { document } from '../http/documented.ts'

// A service that lies, against every example in the help of every command that calls one.

const FAKE = 'x\nFAKE LINE\rFAKE LINE\u2028FAKE LINE'

interface Schema {
  $ref?: string
  type?: string
  format?: string
  enum?: string[]
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  items?: Schema
  allOf?: Schema[]
}

/** A value of the schema in which every text is hostile that may be any. */
function hostile({ $ref, type, format, properties, additionalProperties, items, ...schema }: Schema): unknown {
  if ($ref) return hostile(document.components.schemas[$ref.split('/').at(-1)!])
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(hostile))
  if (schema.enum) return schema.enum[0]
  if (type === 'array') return [hostile(items!)]
  if (type === 'integer' || type === 'number') return 7
  if (type === 'boolean') return true
  if (type === 'string') return format === 'date-time' ? '2026-11-28T18:00:00.000Z' : FAKE
  const own = Object.entries(properties ?? {}).map(([name, one]) => [name, hostile(one)])
  const other = typeof additionalProperties === 'object' ? [[FAKE, hostile(additionalProperties)]] : []
  return Object.fromEntries([...own, ...other])
}

/** The response of an operation as the OpenAPI document describes it. */
function hostileResponse(method: string, url: string): unknown {
  const { pathname } = new URL(url, 'http://x')
  const matches = (template: string) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname)
  const found = Object.keys(document.paths).find((template) => matches(template) && document.paths[template][method])
  const schema = found && document.paths[found][method].responses['200']?.content?.['application/json']?.schema
  return schema ? hostile(schema) : { status: FAKE, version: FAKE, region: FAKE, checks: { [FAKE]: FAKE } }
}

let respond: (method: string, url: string) => { status: number; body: unknown }
const server = createServer((request, response) => {
  const { status, body } = respond(request.method!.toLowerCase(), request.url!)
  request.resume().on('end', () => response.writeHead(status).end(JSON.stringify(body)))
})
const VERDICT_URL = `http://127.0.0.1:${await listenUntilEnd(server)}`
beforeEach(() => {
  vi.stubEnv('VERDICT_URL', VERDICT_URL)
  vi.stubEnv('VERDICT_API_KEY', 'svc_live_x')
  return () => vi.unstubAllEnvs()
})

async function helpOf(...path: string[]): Promise<string> {
  return (await runCli([...path, '--help'])).text
}

async function commandsIn(...path: string[]): Promise<string[]> {
  const listed = (await helpOf(...path)).replace(/^Arguments:\n.*?\n\n/ms, '')
  const names = listed.matchAll(/^ {2}([a-z][a-z-]*)(?: \[options\])?(?: (?:<\w+>|\[\w+\]))? {2,}[A-Z]/gm)
  return [...names].map(([, name]) => name!).filter((name) => name !== 'help')
}

/** They do not end, start a browser, or write a file of data. */
const OTHERS = ['mcp', 'open', 'export']

/** The arguments of every example of every command that takes a URL of the service. */
async function examples(): Promise<string[][]> {
  const found: string[][] = []
  for (const name of await commandsIn()) {
    const subcommands = await commandsIn(name)
    for (const path of subcommands.length > 0 ? subcommands.map((one) => [name, one]) : [[name]]) {
      const help = await helpOf(...path)
      if (path.some((one) => OTHERS.includes(one)) || !/^ {2}--url /m.test(help)) continue
      const lines = help.split('Examples:\n')[1]!.split('\n')
      for (const line of lines.filter((each) => /^ {2}verdict /.test(each) && !each.includes('--follow'))) {
        const words = line.replace(/ [|>].*/, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)
        found.push([...words].slice(1).map(([, single, double, bare]) => single ?? double ?? bare!))
      }
    }
  }
  return found.filter((args) => !args.some((arg) => /^https?:/.test(arg) && args.includes('--url')))
}

async function printed(args: string[]): Promise<string> {
  const output: Output | CliError = await runCli(args.filter((arg) => arg !== '--json')).catch((error) => error)
  return output instanceof Error ? output.message : output.text
}

test('no value begins a line of its own, whatever a service answers', async () => {
  const all = await examples()
  expect(all.length).toBeGreaterThan(50)
  const faked: string[] = []
  for (const status of [200, 400]) {
    respond = (method, url) => ({
      status,
      body: status === 200 ? hostileResponse(method, url) : { error: FAKE, message: FAKE, request_id: FAKE },
    })
    for (const args of all) {
      const text = await printed(args)
      if (/^\s*FAKE LINE/m.test(text)) faked.push(`${args.join(' ')}: ${text.slice(0, 200)}`)
    }
  }
  expect(faked).toEqual([])
})

test.each([{}, [], null, 'text', { recipients: 7, entries: {}, emails: null }])(
  'a service that answers %j is not understood, in words',
  async (body) => {
    respond = () => ({ status: 200, body })
    const raw: string[] = []
    for (const args of await examples()) {
      const text = await printed(args)
      if (/Cannot read|is not (?:iterable|a function)|is not defined/.test(text)) raw.push(`${args.join(' ')}: ${text}`)
    }
    expect(raw).toEqual([])
  },
)
