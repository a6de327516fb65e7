import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { SERVER_VERSION, TEMPORAL_VERSION } from '../../../dev/temporal/version.ts'
import { type RunningProcess, startProgram } from '../../harness/process.ts'
import { listenUntilEnd, temporaryFolder } from '../../harness/until-end.ts'

// `node dev/temporal/install.ts` with shell scripts in place of the programs on PATH.

/** The names of the programs in the cache. */
const NAME = `temporal-${TEMPORAL_VERSION}-${process.platform}-${process.arch}`
const SERVERS = ['temporal-server', 'temporal-sql-tool'].map(
  (name) => `${name}-${SERVER_VERSION}-${process.platform}-${process.arch}`,
)
/** A proxy through which every download fails at once. Nothing listens there, and `fetch` does not refuse the port. */
const NO_INTERNET = 'http://127.0.0.1:2'
/** A Temporal without search attributes, and a Go that cannot download toolchains. */
const TOO_OLD = { temporal: 'echo "--port int"', go: 'echo go1.19.8' }
/** The beginning of the script of a Go that is new enough. */
const GO_1_99 = `[ "$1" = env ] && echo go1.99.0 && exit\n`

let folder: string
let cache: string

beforeEach(async () => {
  folder = temporaryFolder()
  cache = join(folder, 'cache/verdict')
})

/** Starts the installation with these scripts on PATH. Without them, both programs on PATH are too old. */
async function install(
  programs: Record<string, string>,
  env: NodeJS.ProcessEnv = {},
  args: string[] = [],
): Promise<RunningProcess> {
  const bin = join(folder, 'bin')
  await mkdir(bin, { recursive: true })
  for (const [name, script] of Object.entries({ ...TOO_OLD, ...programs })) await writeScript(join(bin, name), script)
  return startProgram(process.execPath, ['dev/temporal/install.ts', ...args], {
    PATH: `${bin}:${process.env.PATH}`,
    XDG_CACHE_HOME: join(folder, 'cache'),
    HTTPS_PROXY: NO_INTERNET,
    ...env,
  })
}

async function writeScript(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
}

async function fillCache(): Promise<void> {
  await mkdir(cache, { recursive: true })
  await writeScript(join(cache, NAME), 'echo cached')
}

async function outcome(running: RunningProcess) {
  return { exit: await running.ended, path: running.stdout().trim(), messages: running.stderr() }
}

/**
 * The script of a Go whose builds succeed: it writes the output of `content` to a file for each package, in the folder
 * named after `-o`.
 */
const goThatBuilds = (content: string) => `${GO_1_99}while [ "$1" != -o ]; do shift; done; folder=$2; shift 2
for package; do file=$folder$(basename "$package"); ${content} > "$file"; chmod +x "$file"; done`

test('a temporal on PATH is used before any other, without a message', async () => {
  await fillCache()
  const installation = await install({ temporal: 'echo "--search-attribute KEY=VALUE"' })
  expect(await outcome(installation)).toEqual({ exit: 0, path: 'temporal', messages: '' })
})

test('the program in the cache is used when the temporal on PATH is too old', async () => {
  await fillCache()
  expect(await outcome(await install({}))).toEqual({ exit: 0, path: join(cache, NAME), messages: '' })
})

test('without internet access the program is built with Go once, with messages', async () => {
  const result = await outcome(await install({ go: goThatBuilds('echo "#!/bin/sh"') }))
  expect(result).toMatchObject({ exit: 0, path: join(cache, NAME) })
  expect(result.messages).toMatch(/is being downloaded.*is being built with Go.*5 minutes.*is installed in/s)
  expect(await readFile(result.path, 'utf8')).toBe('#!/bin/sh\n')
  expect(await outcome(await install({}))).toEqual({ exit: 0, path: result.path, messages: '' })
  expect(await readdir(cache)).toEqual([NAME])
})

test('one build makes all programs of a cluster that are missing', async () => {
  await fillCache()
  const builder = { go: goThatBuilds('echo "$package"') }
  const [, ...servers] = (await outcome(await install(builder, {}, ['--cluster']))).path.split('\n')
  expect(servers).toEqual(SERVERS.map((name) => join(cache, name)))
  expect((await readdir(cache)).sort()).toEqual([NAME, ...SERVERS].sort())
  const packages = await Promise.all(servers.map((path) => readFile(path, 'utf8')))
  expect(packages).toEqual(['go.temporal.io/server/cmd/server\n', 'go.temporal.io/server/cmd/tools/sql\n'])
  expect(await outcome(await install({}, {}, ['--cluster']))).toMatchObject({ exit: 0, messages: '' })
})

test('the versions of the programs are those in go.mod', async () => {
  const lines = (await readFile('dev/temporal/go.mod', 'utf8')).split('\n').map((line) => line.trim())
  expect(lines).toContain(`github.com/temporalio/cli v${TEMPORAL_VERSION} // indirect`)
  expect(lines).toContain(`go.temporal.io/server v${SERVER_VERSION} // indirect`)
})

test('a download that stalls is given up, and the program is built', async () => {
  const HTTPS_PROXY = `http://127.0.0.1:${await listenUntilEnd(createServer(() => {}))}`
  const installation = await install({ go: goThatBuilds('echo') }, { HTTPS_PROXY })
  expect(await outcome(installation)).toMatchObject({ exit: 0, path: join(cache, NAME) })
})

test('two concurrent builds leave one complete program and no other file', async () => {
  const slow = { go: goThatBuilds('sleep 1; echo whole') }
  const both = await Promise.all([install(slow), install(slow)])
  for (const installation of both)
    expect(await outcome(installation)).toMatchObject({ exit: 0, path: join(cache, NAME) })
  expect(await readdir(cache)).toEqual([NAME])
  expect(await readFile(join(cache, NAME), 'utf8')).toBe('whole\n')
})

test('the message about a failed build has the last output of Go', async () => {
  const failure = await outcome(await install({ go: `${GO_1_99}echo "no space left on device" >&2; exit 1` }))
  expect(failure).toMatchObject({ exit: 1, path: '' })
  expect(failure.messages).toMatch(/cannot be built with Go:\nno space left on device\n$/)
})

test('without a Go that is new enough, and without a download of one, the message names the alternatives', async () => {
  const failure = await outcome(await install({}, { GOPROXY: `${NO_INTERNET},direct` }))
  expect(failure).toMatchObject({ exit: 1, path: '' })
  expect(failure.messages).toMatch(/ECONNREFUSED.*go\.dev\/dl.*docs\.temporal\.io\/cli.*TEMPORAL_ADDRESS/)
})

test('a downloaded Go with another checksum is not run', async () => {
  const requests: (string | undefined)[] = []
  const proxy = createHttpServer(({ url }, response) => {
    requests.push(url)
    response.end('PK: another archive')
  })
  const GOPROXY = `http://127.0.0.1:${await listenUntilEnd(proxy)}/|direct`
  const failure = await outcome(await install({}, { GOPROXY }))
  expect(requests).toEqual([expect.stringMatching(/^\/golang\.org\/toolchain\/@v\/v0\.0\.1-go[\d.]+\.linux-\w+\.zip$/)])
  expect(failure).toMatchObject({ exit: 1, path: '' })
  expect(failure.messages).toContain('its SHA-256 differs')
  expect(existsSync(join(cache, NAME))).toBe(false)
})

test('a build ends with the process that started it', async () => {
  const pidFile = join(folder, 'pid')
  const installation = await install({
    go: `${GO_1_99}echo $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; exec sleep 600`,
  })
  await expect.poll(() => existsSync(pidFile)).toBe(true)
  const goPid = Number(await readFile(pidFile, 'utf8'))
  await installation.kill('SIGKILL')
  await expect.poll(() => existsSync(`/proc/${goPid}`)).toBe(false)
})

test('the message names a cache folder that cannot be created', async () => {
  await writeFile(join(folder, 'cache'), 'a file')
  const failure = await outcome(await install({}))
  expect(failure).toMatchObject({ exit: 1, path: '', messages: expect.stringContaining(`${cache} cannot be created`) })
})
