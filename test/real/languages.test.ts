import { spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { snippets } from '../docs/snippets.ts'
import { type Exchanger, startExchanger } from '../harness/exchanger.ts'
import { type RunningProcess, startProgram, waitForOutput } from '../harness/process.ts'
import { type Receiver, type ScriptedResponse, startReceiver } from '../harness/receiver.ts'
import { untilEnd } from '../harness/until-end.ts'
import { eventually, openFolder } from './daemon.ts'
import { installPackages } from './packages.ts'
import { type Account, createSender, type Product, startProduct } from './product.ts'

// The programs of docs/languages, copied from their pages, against the product and mail servers. Between a program and
// the product is a proxy, which loses responses.

const DOWNLOAD_AND_COMPILE_MS = 600_000
/** More than the 40 s that a program waits for a response. */
const TIMEOUT_MS = 90_000

interface Language {
  /** The name of the page. */
  page: string
  /** Where the page says to save the program. */
  file: string
  /** The variables that the commands of the page need for their toolchain. */
  toolchain?: () => Promise<NodeJS.ProcessEnv>
  /** The command that compiles the program, in its folder. */
  build?: string[]
  /** The command that runs the program. */
  program: string[]
  /** The command that receives webhooks on a port, if it is not a command of the program. */
  receiver?: (port: string) => string[]
  /** What the commands of the page leave to a tool that the registries of this machine lack. */
  install?: (folder: string) => Promise<void>
  /** The command that runs the example of the generated client, if there is one beside the program. */
  example?: { file: string; command: string[] }
}

const LANGUAGES: Language[] = [
  {
    page: 'php',
    file: 'verdict.php',
    program: ['php', 'verdict.php'],
    // PHP displays errors where it has no php.ini.
    receiver: (port) => ['php', '-d', 'display_errors=1', '-S', `127.0.0.1:${port}`, 'verdict.php'],
    // Debian's packages are what Composer would install.
    install: (folder) => save(folder, 'verdict-client/vendor/autoload.php', DEBIAN_AUTOLOAD),
    example: { file: 'example.php', command: ['php', 'example.php'] },
  },
  {
    page: 'java',
    file: 'Verdict.java',
    program: ['java', '-cp', 'verdict-client/target/classes:verdict-client/target/dependency/*', 'Verdict.java'],
  },
  {
    page: 'go',
    file: 'verdict.go',
    toolchain: async () => {
      const signal = AbortSignal.timeout(DOWNLOAD_AND_COMPILE_MS)
      const { program, env } = await goToolchain({ report: () => {}, signal, cacheDir: cacheFolder(process.env) })
      return program === 'go' ? env : { ...env, PATH: `${dirname(program)}${delimiter}${process.env.PATH}` }
    },
    build: ['go', 'build', 'verdict.go'],
    program: ['./verdict'],
    example: { file: 'example/main.go', command: ['go', 'run', './example'] },
  },
  {
    page: 'ruby',
    file: 'verdict.rb',
    program: ['ruby', 'verdict.rb'],
    example: { file: 'example.rb', command: ['ruby', 'example.rb'] },
  },
  {
    page: 'rust',
    file: 'src/main.rs',
    // Debian's `cargo` is older than the page asks for.
    toolchain: async () => {
      if (spawnSync('cargo', ['--version']).error) installPackages(['cargo-web'])
      return {}
    },
    build: ['cargo', 'build', '--quiet'],
    program: ['target/debug/verdict'],
  },
]

const DEBIAN_AUTOLOAD = `<?php
require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $file = __DIR__ . '/../lib/' . str_replace(['OpenAPI\\\\Client\\\\', '\\\\'], ['', '/'], $class) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
`

let account: Account
let product: Product
let exchanger: Exchanger
let broken: Exchanger
let proxy: Receiver
/** What the proxy does with the next requests. Later ones pass. */
let faults: ('lose the response' | ScriptedResponse)[] = []

beforeAll(async () => {
  exchanger = untilEnd(
    await startExchanger({
      rcpt: (line) => {
        if (line.includes('full@')) return '452 4.2.2 Mailbox is over its quota'
        return line.includes('busy@') ? '451 4.7.1 Try again later' : undefined
      },
    }),
  )
  broken = untilEnd(await startExchanger({ dot: 'close' }))
  account = await createSender('example.test')
  product = await startProduct(account, {
    DNS_SERVERS: '127.0.0.1:1',
    SMTP_ROUTES: `recipient.example=127.0.0.1:${exchanger.port},broken.example=127.0.0.1:${broken.port}`,
    WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
  })
  proxy = untilEnd(await startReceiver())
  proxy.script = async ({ method, path, headers: { host: _, connection: __, ...headers }, body }) => {
    const fault = faults.shift()
    if (typeof fault === 'object') return fault
    const response = await fetch(product.api.url + path, { method, headers, body: body.length > 0 ? body : undefined })
    const content = Buffer.from(await response.arrayBuffer())
    if (fault === 'lose the response') return { fault: 'reset' }
    const { 'transfer-encoding': ___, 'content-encoding': ____, ...given } = Object.fromEntries(response.headers)
    return { status: response.status, headers: given, body: content }
  }
})

async function save(folder: string, name: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true })
  await writeFile(join(folder, name), text)
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON of a REST response, as a client reads it.
async function call(method: string, path: string, body?: object): Promise<any> {
  const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
  const response = await fetch(product.api.url + path, { method, headers, body: body && JSON.stringify(body) })
  expect(response.status).toBe(200)
  return response.json()
}

/** The code blocks of the sections of a page whose heading begins with a word. */
async function blocksOf(page: string, heading: string) {
  const sections = (await readFile(`docs/languages/${page}.md`, 'utf8')).split(/^## /m)
  return sections.filter((section) => section.startsWith(heading)).flatMap(snippets)
}

describe.each(LANGUAGES)('the page of $page', (language) => {
  const { page, file, program, receiver, example } = language
  let folder: string
  let env: NodeJS.ProcessEnv
  const running: RunningProcess[] = []

  beforeAll(async () => {
    folder = await openFolder(page)
    const toolchain = await language.toolchain?.()
    env = { ...toolchain, VERDICT_URL: proxy.url.replace('/hook', ''), VERDICT_API_KEY: account.key }
    const generated = await blocksOf(page, 'Generate')
    for (const { language: shell, mark, text } of generated) {
      if (shell === 'sh' && mark === 'not-run=by-the-test') await succeed(['sh', '-euc', text])
    }
    await language.install?.(folder)
    if (example) await save(folder, example.file, generated.find(({ language }) => language !== 'sh')!.text)
    const parts = await blocksOf(page, 'The program')
    const code = parts.findIndex(({ language }) => language !== 'sh')
    for (const { text } of parts.slice(0, code)) await succeed(['sh', '-euc', text])
    await save(folder, file, parts[code]!.text)
    if (language.build) await succeed(language.build)
  }, DOWNLOAD_AND_COMPILE_MS)
  afterEach(async () => {
    faults = []
    await Promise.all(running.splice(0).map((one) => one.kill('SIGKILL')))
  })
  function start([command, ...args]: string[], more: NodeJS.ProcessEnv = {}): RunningProcess {
    const one = startProgram(command!, args, { ...env, ...more }, folder)
    running.push(one)
    return one
  }

  async function succeed(command: string[]): Promise<string> {
    const one = start(command)
    expect(await one.ended, `${one.stdout().slice(-4_000)}\n${one.stderr().slice(-4_000)}`).toBe(0)
    return one.stdout()
  }

  /** An address and a key that no other language has. */
  const own = (name: string) => `${page}-${name}`
  const send = (to: string, key = own(to)) => succeed([...program, 'send', key, own(to)])
  const arrived = (to: string) => exchanger.messages.filter((message) => message.to.includes(own(to)))
  const requests = (key: string) => proxy.requests.filter(({ headers }) => headers['idempotency-key'] === key)

  test.runIf(example)('the example of the generated client sends an email', async () => {
    expect(await succeed(example!.command)).toMatch(/^delivered msg_\w+\n$/)
  })

  test('the program prints each verdict, and what to do next', async () => {
    expect(await send('ann@recipient.example')).toMatch(/^delivered msg_\w+: done\n$/)
    expect(arrived('ann@recipient.example')).toHaveLength(1)
    expect(await send('full@recipient.example')).toMatch(/^bounced mailbox_full msg_\w+: do not send again\n$/)
    expect(await send('busy@recipient.example')).toMatch(
      /^bounced temporary_failure msg_\w+: send again in a few minutes, with retry_of and a new key\n$/,
    )
    expect(await send('bob@broken.example')).toMatch(
      /^bounced connection_timeout msg_\w+: may have arrived, let a person decide\n$/,
    )
  })

  test('a response that is lost is read again under the same key, and one copy arrives', async () => {
    const to = 'lost@recipient.example'
    faults = ['lose the response']
    expect(await send(to)).toMatch(/^delivered msg_\w+: done\n$/)
    expect(requests(own(to))).toHaveLength(2)
    expect(arrived(to)).toHaveLength(1)
  })

  test.each(['short_body', 'garbage'] as const)('a response that is cut (%s) is read again', async (fault) => {
    const to = `${fault}@recipient.example`
    faults = [{ fault, headers: { 'content-type': 'application/json' } }]
    expect(await send(to)).toMatch(/^delivered msg_\w+: done\n$/)
    expect(requests(own(to))).toHaveLength(2)
  })

  test('a response that never comes ends with a timeout, and a repeat', { timeout: TIMEOUT_MS }, async () => {
    const to = 'silent@recipient.example'
    faults = [{ fault: 'hang' }]
    expect(await send(to)).toMatch(/^delivered msg_\w+: done\n$/)
    const [first, second, ...more] = requests(own(to)).map(({ receivedAtMs }) => receivedAtMs)
    expect(second! - first!).toBeGreaterThan(39_000)
    expect(more).toEqual([])
    expect(arrived(to)).toHaveLength(1)
  })

  test('a proxy that asks for time gets it', async () => {
    const to = 'later@recipient.example'
    faults = [{ status: 503, headers: { 'retry-after': '4' } }]
    expect(await send(to)).toMatch(/^delivered msg_\w+: done\n$/)
    const [first, second] = requests(own(to)).map(({ receivedAtMs }) => receivedAtMs)
    expect(second! - first!).toBeGreaterThan(3_900)
  })

  test('a request that is wrong is not repeated, and its error is printed', async () => {
    const one = start([...program, 'send', own('wrong'), 'no address'])
    expect(await one.ended).toBe(1)
    expect(one.stderr()).toContain('invalid_address')
    expect(requests(own('wrong'))).toHaveLength(1)
  })

  /** A program that receives webhooks, with a function that posts a signed one and returns the status, 0 for none. */
  async function receiveWith(secret: string) {
    const port = String(await freePort())
    const url = `http://127.0.0.1:${port}/verdict`
    start(receiver?.(port) ?? [...program, 'receive', port], { WEBHOOK_SECRET: secret })
    const post = async (body: string, headers: Record<string, string>) =>
      (await fetch(url, { method: 'POST', headers, body })).status
    await eventually(() => post('{}', {}).catch(() => undefined))
    return (body: string) => {
      const at = String(Math.floor(Date.now() / 1_000))
      const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
      return post(body, { 'service-timestamp': at, 'service-signature': signature }).catch(() => 0)
    }
  }

  test('a webhook that cannot be stored is not acknowledged', async () => {
    const post = await receiveWith('whsec_test')
    const inbox = join(folder, 'inbox')
    await writeFile(inbox, 'a file in the place of the folder')
    expect(await post('{"event_id":"evt_1"}')).toBeOneOf([0, 500])
    await rm(inbox)
    expect(await post('{"event_id":"evt_1"}')).toBe(200)
    await rm(inbox, { recursive: true })
  })

  test('a webhook is stored once it is verified, also while the secret is rotated, and a forged one is refused', async () => {
    const port = String(await freePort())
    const url = `http://127.0.0.1:${port}/verdict`
    const { endpoint_id: id, secret } = await call('POST', '/api/v1/webhooks', { url })
    start(receiver?.(port) ?? [...program, 'receive', port], { WEBHOOK_SECRET: secret })
    const post = async (body: string, headers: Record<string, string>) =>
      (await fetch(url, { method: 'POST', headers, body })).status
    const signed = (body: string, key: string, at = Math.floor(Date.now() / 1_000)) => {
      const signature = createHmac('sha256', key).update(`${at}.${body}`).digest('hex')
      return post(body, { 'service-timestamp': String(at), 'service-signature': signature })
    }
    await eventually(() => post('{}', {}).catch(() => undefined))

    const test = `/api/v1/webhooks/${id}/test`
    const stored = [await call('POST', test)]
    await call('POST', `/api/v1/webhooks/${id}/secret/rotate`)
    stored.push(await call('POST', test))
    expect(stored).toMatchObject([{ outcome: 'acked' }, { outcome: 'acked' }])
    await send('hook@recipient.example')
    const message = `/api/v1/events?recipient=${own('hook@recipient.example')}`
    const pushed = await eventually(async () => {
      const [event] = (await call('GET', message)).events
      return event?.acknowledged_at ? event : undefined
    })

    const body = JSON.stringify({ event: 'email.delivery', event_id: 'evt_forged', status: 'delivered' })
    const now = Math.floor(Date.now() / 1_000)
    expect(await post(body, {})).toBe(401)
    expect(await post(body, { 'service-timestamp': String(now), 'service-signature': 'a'.repeat(64) })).toBe(401)
    expect(await signed(body, 'whsec_other')).toBe(401)
    expect(await signed(body, '')).toBe(401)
    expect(await signed(body, secret, now - 302)).toBe(400)
    expect(await signed(body, secret, now + 330)).toBe(400)

    const files = [...stored, pushed].map(({ event_id }) => `${event_id}.json`)
    expect((await readdir(join(folder, 'inbox'))).toSorted()).toEqual(files.toSorted())
    const event = JSON.parse(await readFile(join(folder, 'inbox', files[2]!), 'utf8'))
    expect(event).toMatchObject({ event: 'email.delivery', status: 'delivered', message_id: pushed.message_id })
    // A second arrival is the same file.
    expect(await signed(JSON.stringify(event), secret)).toBe(200)
    expect(await readdir(join(folder, 'inbox'))).toHaveLength(3)
    await call('DELETE', `/api/v1/webhooks/${id}`)
  })

  test('the stream of events is followed over lost responses, and resumed where the program was killed', async () => {
    const printed: string[] = []
    const follow = async (to: string) => {
      const one = start([...program, 'follow'])
      await waitForOutput(one, new RegExp(`delivered ${own(to)}\n`))
      // The program stores the position after it printed the event.
      await eventually(async () => {
        const position = await readFile(join(folder, 'position'), 'utf8')
        const { events } = await call('GET', `/api/v1/events/changes?after=${encodeURIComponent(position)}`)
        return events.length === 0 || undefined
      })
      await one.kill('SIGKILL')
      printed.push(...one.stdout().trim().split('\n'))
    }
    await send('first@recipient.example')
    faults = ['lose the response', { status: 502 }]
    await follow('first@recipient.example')
    await send('second@recipient.example')
    await follow('second@recipient.example')
    const { events } = await call('GET', '/api/v1/events/changes?after=begin&limit=100')
    const committed = events.map(({ event }: { event: { event_id: string } }) => event.event_id)
    expect(printed.map((line) => line.split(' ')[0])).toEqual(committed)
  })
})
