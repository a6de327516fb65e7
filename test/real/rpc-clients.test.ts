import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { openFolder } from './daemon.ts'
import { type Account, createSender, type Product, SENDER_DOMAIN, startProduct } from './product.ts'

// The stock clients of gRPC and Connect, each with its defaults, with compression, deadlines and keepalive, and with a
// stream that resumes at a position.

const PROGRAMS = resolve('test/real/rpc-clients')
const PYTHON = [
  'googleapis-common-protos==1.76.0',
  'grpcio==1.85.1',
  'grpcio-tools==1.85.1',
  'connectrpc==0.13.0',
  'protoc-gen-connectrpc==0.13.0',
]
const GO_PLUGINS = [
  'google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12',
  'google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2',
  'connectrpc.com/connect/cmd/protoc-gen-connect-go@v1.21.1',
]
const GO_MODULES = [
  'google.golang.org/grpc@v1.85.0',
  'google.golang.org/protobuf@v1.36.12',
  'google.golang.org/genproto/googleapis/api@v0.0.0-20260817212433-ac3dfec99bb1',
  'connectrpc.com/connect@v1.21.1',
]
const DOWNLOAD_AND_COMPILE_MS = 600_000

let folder: string
let account: Account
let product: Product

beforeAll(async () => {
  folder = await openFolder('rpc-clients')
  account = await createSender()
  // Mail to the simulator needs no DNS.
  product = await startProduct(account, { DNS_SERVERS: '127.0.0.1:1' })
})

/** Runs a program that must succeed, and returns its standard output. */
async function run(cwd: string, command: string, args: string[], more: NodeJS.ProcessEnv = {}): Promise<string> {
  const own = { VERDICT_URL: product.api.url, VERDICT_API_KEY: account.key, FROM: `hello@${SENDER_DOMAIN}` }
  const child = spawn(command, args, { cwd, env: { ...process.env, ...own, ...more }, stdio: 'pipe' })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text
    })
  const [status] = await once(child, 'close')
  expect(status, `${command} ${args.join(' ')}\n${output.stderr.slice(-4_000)}`).toBe(0)
  return output.stdout
}

const DELIVERED = 'DELIVERY_STATUS_DELIVERED'
const RESULTS = {
  defaults: DELIVERED,
  large: DELIVERED,
  compressed: DELIVERED,
  domains: 1,
  fault: 'invalid_argument',
  deadline: 'deadline_exceeded',
  // The simulator is silent until the end of the send's time, and the connection lives through it.
  keepalive: 'DELIVERY_STATUS_BOUNCED',
  stream: 'resumed',
}

const RUN = {
  'grpcio and connectrpc (Python)': async () => {
    const environment = join(folder, 'environment')
    await run(folder, 'python3', ['-m', 'venv', environment])
    const bin = join(environment, 'bin')
    await run(folder, join(bin, 'pip'), ['install', '--quiet', ...PYTHON])
    const out = join(folder, 'python')
    await mkdir(out)
    const outputs = ['python', 'grpc_python', 'connectrpc'].map((name) => `--${name}_out=${out}`)
    const plugin = [
      '--connectrpc_opt=protobuf=google',
      `--plugin=protoc-gen-connectrpc=${join(bin, 'protoc-gen-connectrpc')}`,
    ]
    const files = ['emails', 'domains', 'events', 'outcomes', 'errors', 'options', 'stats'].map(
      (name) => `verdict/v1/${name}.proto`,
    )
    const protoc = ['-m', 'grpc_tools.protoc', '-I', resolve('proto'), ...outputs, ...plugin, ...files]
    await run(folder, join(bin, 'python'), protoc)
    return run(out, join(bin, 'python'), [join(PROGRAMS, 'main.py')], { PYTHONPATH: out })
  },
  'grpc-go and connect-go': async () => {
    const go = await goToolchain({
      report: () => {},
      signal: AbortSignal.timeout(DOWNLOAD_AND_COMPILE_MS),
      cacheDir: cacheFolder(process.env),
    })
    const client = join(folder, 'go')
    await mkdir(client)
    const env = { ...go.env, GOBIN: join(client, 'bin'), GOFLAGS: '-mod=mod' }
    await run(client, go.program, ['mod', 'init', 'example.com/mail'], env)
    for (const plugin of GO_PLUGINS) await run(client, go.program, ['install', plugin], env)
    const plugins = ['go', 'go-grpc', 'connect-go'].map((name) => ({
      local: join(client, `bin/protoc-gen-${name}`),
      out: join(client, 'gen'),
      opt: 'paths=source_relative',
    }))
    const managed = {
      enabled: true,
      disable: [{ file_option: 'go_package', path: 'google' }],
      override: [{ file_option: 'go_package_prefix', value: 'example.com/mail/gen' }],
    }
    const template = JSON.stringify({ version: 'v2', managed, plugins })
    await run(resolve('.'), 'buf', ['generate', '--template', template, '--path', 'proto/verdict/v1'])
    await cp(join(PROGRAMS, 'main.go'), join(client, 'main.go'))
    await run(client, go.program, ['get', ...GO_MODULES], env)
    await run(client, go.program, ['mod', 'tidy'], env)
    return run(client, go.program, ['run', '.'], env)
  },
  'grpc-js and connect-node': () => run(resolve('.'), process.execPath, [join(PROGRAMS, 'main.ts')]),
}

test.for(Object.entries(RUN))(
  '%s send with their defaults, with gzip, with deadlines and with keepalive',
  { timeout: DOWNLOAD_AND_COMPILE_MS },
  async ([, program]) => {
    const clients = JSON.parse(await program()) as Record<string, object>
    // grpc-go writes its codes as DeadlineExceeded.
    const named = JSON.stringify(Object.values(clients))
      .replaceAll('"DeadlineExceeded"', '"deadline_exceeded"')
      .replaceAll('"InvalidArgument"', '"invalid_argument"')
    expect(JSON.parse(named)).toEqual(Object.keys(clients).map(() => RESULTS))
  },
)
