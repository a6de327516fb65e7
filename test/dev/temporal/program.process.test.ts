import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TEMPORAL_VERSION } from '../../../dev/temporal/version.ts'
import { type RunningProcess, startProgram } from '../../harness/process.ts'

const NAME = `temporal-${TEMPORAL_VERSION}-${process.platform}-${process.arch}`
/** A proxy through which the download of Temporal's SDK fails at once. */
const NO_INTERNET = 'http://127.0.0.1:1'
/** It serves, but knows no search attributes; and a Go from before modules had toolchains. */
const TOO_OLD = { temporal: 'echo "--port int"', go: 'echo go1.19.8' }
const GO_1_99 = `[ "$1" = env ] && echo go1.99.0 && exit\n`

let folder: string
let cache: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verdict-temporal-'))
  cache = join(folder, 'cache/verdict')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

/** Brings the program, with these in front of all others on PATH. */
async function bring(programs: Record<string, string>, env: NodeJS.ProcessEnv = {}): Promise<RunningProcess> {
  const bin = join(folder, 'bin')
  await mkdir(bin, { recursive: true })
  for (const [name, script] of Object.entries({ ...TOO_OLD, ...programs })) await program(join(bin, name), script)
  return startProgram(process.execPath, ['dev/temporal/install.ts'], {
    PATH: `${bin}:${process.env.PATH}`,
    XDG_CACHE_HOME: join(folder, 'cache'),
    HTTPS_PROXY: NO_INTERNET,
    ...env,
  })
}

async function program(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
}

async function fillCache(): Promise<void> {
  await mkdir(cache, { recursive: true })
  await program(join(cache, NAME), 'echo cached')
}

async function outcome(running: RunningProcess) {
  return { exit: await running.ended, path: running.stdout().trim(), told: running.stderr() }
}

/** Builds what follows `-o`. */
const build = (content: string) => `${GO_1_99}while [ "$1" != -o ]; do shift; done\n${content} > "$2"; chmod +x "$2"`

test('a temporal on PATH is taken before anything else, and nothing is told', async () => {
  await fillCache()
  const bringing = await bring({ temporal: 'echo "--search-attribute KEY=VALUE"' })
  expect(await outcome(bringing)).toEqual({ exit: 0, path: 'temporal', told: '' })
})

test('one on PATH that is too old is passed over for the one in the cache', async () => {
  await fillCache()
  expect(await outcome(await bring({}))).toEqual({ exit: 0, path: join(cache, NAME), told: '' })
})

test('without a way to the internet it is built with Go, which is told, once', async () => {
  const built = await outcome(await bring({ go: build('echo "#!/bin/sh"') }))
  expect(built).toMatchObject({ exit: 0, path: join(cache, NAME) })
  expect(built.told).toMatch(/is being downloaded.*is being built with Go.*5 minutes.*is installed in/s)
  expect(await readFile(built.path, 'utf8')).toBe('#!/bin/sh\n')
  expect(await outcome(await bring({}))).toEqual({ exit: 0, path: built.path, told: '' })
  expect(await readdir(cache)).toEqual([NAME])
})

test('a way to the internet on which nothing comes is given up within seconds', async () => {
  await using silent = await listening(createServer(() => {}))
  const bringing = await bring({ go: build('echo') }, { HTTPS_PROXY: silent.url })
  expect(await outcome(bringing)).toMatchObject({ exit: 0, path: join(cache, NAME) })
})

test('two that build at the same time leave one whole program and nothing else', async () => {
  const slow = { go: build('sleep 1; echo whole') }
  const both = await Promise.all([bring(slow), bring(slow)])
  for (const bringing of both) expect(await outcome(bringing)).toMatchObject({ exit: 0, path: join(cache, NAME) })
  expect(await readdir(cache)).toEqual([NAME])
  expect(await readFile(join(cache, NAME), 'utf8')).toBe('whole\n')
})

test('a build that fails is told with the last words of Go', async () => {
  const failed = await outcome(await bring({ go: `${GO_1_99}echo "no space left on device" >&2; exit 1` }))
  expect(failed).toMatchObject({ exit: 1, path: '' })
  expect(failed.told).toMatch(/cannot be built with Go:\nno space left on device\n$/)
})

test('a Go that is too old, and no newer one to be had, is told with the other ways', async () => {
  const { url, [Symbol.asyncDispose]: close } = await listening(createServer())
  await close()
  const failed = await outcome(await bring({}, { GOPROXY: `${url},direct` }))
  expect(failed).toMatchObject({ exit: 1, path: '' })
  expect(failed.told).toMatch(/ECONNREFUSED.*go\.dev\/dl.*docs\.temporal\.io\/cli.*TEMPORAL_ADDRESS/)
})

test('a Go that is not the expected one is not run', async () => {
  const asked: (string | undefined)[] = []
  const proxy = createHttpServer(({ url }, response) => {
    asked.push(url)
    response.end('PK: another archive')
  })
  await using other = await listening(proxy)
  const failed = await outcome(await bring({}, { GOPROXY: `${other.url}/|direct` }))
  expect(asked).toEqual([expect.stringMatching(/^\/golang\.org\/toolchain\/@v\/v0\.0\.1-go[\d.]+\.linux-\w+\.zip$/)])
  expect(failed).toMatchObject({ exit: 1, path: '' })
  expect(failed.told).toContain('its SHA-256 differs')
  expect(existsSync(join(cache, NAME))).toBe(false)
})

test('a build does not outlive the process that wanted it', async () => {
  const pidFile = join(folder, 'pid')
  const bringing = await bring({
    go: `${GO_1_99}echo $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; exec sleep 600`,
  })
  await expect.poll(() => existsSync(pidFile)).toBe(true)
  const go = Number(await readFile(pidFile, 'utf8'))
  await bringing.kill('SIGKILL')
  await expect.poll(() => existsSync(`/proc/${go}`)).toBe(false)
})

test('a cache that cannot be made is told', async () => {
  await writeFile(join(folder, 'cache'), 'a file')
  const failed = await outcome(await bring({}))
  expect(failed).toMatchObject({ exit: 1, path: '', told: expect.stringContaining(`${cache} cannot be created`) })
})

async function listening(server: Server): Promise<{ url: string } & AsyncDisposable> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void server.close() }
}
