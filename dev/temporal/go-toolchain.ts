import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { fromBufferPromise } from 'yauzl'
import { Problem } from '../problem.ts'
import type { InstallOptions } from './install-options.ts'

export interface Go {
  program: string
  env: NodeJS.ProcessEnv
  /** Set for a toolchain downloaded for one build: the folder to delete afterwards, with all that Go wrote. */
  folder?: string
}

const VERSION = '1.26.8'
/** SHA-256 of the toolchains as modules (https://go.dev/ref/mod#go-install), which every module proxy serves. */
const TOOLCHAINS: Record<string, { platform: string; sha256: string }> = {
  'linux-x64': {
    platform: 'linux-amd64',
    sha256: '30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7',
  },
  'linux-arm64': {
    platform: 'linux-arm64',
    sha256: '02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99',
  },
}
const OTHER_WAYS =
  'Do one of these: install Go 1.26.4 or later (https://go.dev/dl), install the program `temporal` ' +
  '(https://docs.temporal.io/cli), or set TEMPORAL_ADDRESS to the address of a running Temporal.'

/**
 * The environment of `go build`: without a C compiler, another toolchain, a workspace around it or flags of the user's
 * own. With `GOFLAGS=-mod=mod`, a sum that go.sum lacks would be fetched instead of refused.
 */
export const buildEnvironment = (go: Go): NodeJS.ProcessEnv => ({
  ...process.env,
  GOFLAGS: '',
  ...go.env,
  CGO_ENABLED: '0',
  GOTOOLCHAIN: 'local',
  GOWORK: 'off',
})

/** Returns the Go on PATH when it is new enough, otherwise one from the module proxy. Throws a Problem without both. */
export async function goToolchain({ report, signal, cacheDir }: InstallOptions): Promise<Go> {
  if (await onPathIsNewEnough()) return { program: 'go', env: {} }
  const folder = join(cacheDir, `go-${VERSION}`)
  const root = join(folder, 'toolchain')
  const program = join(root, 'bin/go')
  const env = {
    GOROOT: root,
    GOPATH: join(folder, 'path'),
    GOMODCACHE: join(folder, 'modules'),
    GOCACHE: join(folder, 'compiled'),
    GOFLAGS: '-modcacherw',
  }
  const exists = await access(program).then(
    () => true,
    () => false,
  )
  if (!exists) {
    report(`Downloading Go ${VERSION} for that.`)
    await install(root, signal)
  }
  return { program, env, folder }
}

async function onPathIsNewEnough(): Promise<boolean> {
  const goMod = await readFile(new URL('go.mod', import.meta.url), 'utf8')
  const [, needed] = /^go ([\d.]+)$/m.exec(goMod) ?? []
  if (needed === undefined) throw new Error('go.mod names no version of Go')
  const env = { ...process.env, GOTOOLCHAIN: 'local' }
  const version = promisify(execFile)('go', ['env', 'GOVERSION'], { env })
  return version.then(
    ({ stdout }) => stdout.trim().replace(/^go/, '').localeCompare(needed, 'en', { numeric: true }) >= 0,
    () => false,
  )
}

/** Unpacks the toolchain beside `root` and renames it, so that an interruption leaves no half toolchain. */
async function install(root: string, signal: AbortSignal): Promise<void> {
  const toolchain = TOOLCHAINS[`${process.platform}-${process.arch}`]
  if (!toolchain) throw new Problem(`Temporal is not installed, and there is no Go to build it. ${OTHER_WAYS}`)
  const name = `golang.org/toolchain@v0.0.1-go${VERSION}.${toolchain.platform}`
  const url = `${moduleProxy()}/${name.replace('@', '/@v/')}.zip`
  const zip = await download(url, signal)
  if (createHash('sha256').update(zip).digest('hex') !== toolchain.sha256) {
    throw new Problem(`${url} is not the expected Go: its SHA-256 differs. ${OTHER_WAYS}`)
  }
  const unfinished = `${root}.${process.pid}.new`
  await unpack(zip, `${name}/`, unfinished)
  await rename(unfinished, root).catch(() => rm(unfinished, { recursive: true }))
}

/** Unpacks the files under `prefix` into `folder`. Module archives store no modes, so programs get theirs here. */
async function unpack(zip: Buffer, prefix: string, folder: string): Promise<void> {
  const archive = await fromBufferPromise(zip)
  for await (const entry of archive.eachEntry()) {
    if (!entry.fileName.startsWith(prefix) || entry.fileName.endsWith('/')) continue
    const path = entry.fileName.slice(prefix.length)
    const file = join(folder, path)
    const mode = /^(bin|pkg\/tool)\//.test(path) ? 0o755 : 0o644
    await mkdir(dirname(file), { recursive: true })
    await pipeline(await archive.openReadStreamPromise(entry), createWriteStream(file, { mode }))
  }
}

async function download(url: string, signal: AbortSignal): Promise<Buffer> {
  try {
    const response = await fetch(url, { signal })
    if (!response.ok) throw new Error(`HTTP ${response.status}`)
    return Buffer.from(await response.arrayBuffer())
  } catch (cause) {
    signal.throwIfAborted()
    const reason = ((cause as Error).cause as Error | undefined)?.message ?? (cause as Error).message
    throw new Problem(
      `Temporal is not installed, and Go to build it cannot be downloaded: ${url}: ${reason}. ${OTHER_WAYS}`,
      { cause },
    )
  }
}

/** The first URL of GOPROXY (https://go.dev/ref/mod#environment-variables). */
function moduleProxy(): string {
  const configured = (process.env.GOPROXY ?? '').split(/[,|]/).find((entry) => /^https?:/.test(entry))
  return configured?.replace(/\/$/, '') ?? 'https://proxy.golang.org'
}
