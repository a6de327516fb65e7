import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, cp, lstat, mkdir, readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { onlyStep, reachesBuild, readDockerfile, type Stage, type Step } from '../deploy/dockerfile.ts'

/** A user without rights: the one of the image. */
export const USER = 1000
const STEP_MS = 600_000

export interface Image {
  stage: Stage
  /** The folder on this machine that is the image's working directory. */
  folder: string
}

/**
 * Takes the steps of the Dockerfile one after the other in folders of this machine, as a user without rights. Stages
 * begin with the Node that runs the tests in the place of their image. Throws with the output of a step that fails.
 */
export async function buildImage(root: string, context: string): Promise<Image> {
  const home = join(root, 'home')
  await mkdir(home)
  await chown(home, USER, USER)
  await offerDownloads(home)
  const stages = readDockerfile()
  const folders = new Map<string, string>()
  for (const [at, stage] of stages.entries()) {
    const base = join(root, stage.name ?? `stage-${at}`)
    folders.set(stage.name ?? '', base)
    const isLast = at === stages.length - 1
    for (const step of stage.steps) {
      if (step.does === 'WORKDIR') await makeFolder(join(base, step.values[0]!), isLast)
      if (step.does === 'COPY') await copy(step, { context, folders, base: join(base, workdirOf(stage)), isLast })
      if (step.does === 'RUN') await run(step.command, join(base, workdirOf(stage)), home)
    }
  }
  const last = stages.at(-1)!
  return { stage: last, folder: join(folders.get('')!, workdirOf(last)) }
}

/** Copies the files of the repository that .dockerignore lets through, and no others. */
export async function copyContext(files: string[], target: string): Promise<void> {
  for (const file of files.filter(reachesBuild)) await cp(file, join(target, file))
}

const workdirOf = (stage: Stage) => onlyStep(stage, 'WORKDIR').values[0]!

async function makeFolder(path: string, isRoots: boolean): Promise<void> {
  await mkdir(path, { recursive: true })
  if (!isRoots) await chown(path, USER, USER)
}

interface Place {
  context: string
  folders: ReadonlyMap<string, string>
  base: string
  /** The files of the last stage belong to root, because USER comes after COPY there. */
  isLast: boolean
}

/** As Docker: the content of a folder goes into the target; a target with a final slash is a folder. */
async function copy(step: Extract<Step, { does: 'COPY' }>, { context, folders, base, isLast }: Place): Promise<void> {
  for (const source of step.sources) {
    const path = step.from === undefined ? join(context, source) : join(folders.get(step.from)!, source)
    const intoFolder = step.target.endsWith('/') && !(await lstat(path)).isDirectory()
    const target = join(base, step.target, intoFolder ? basename(source) : '')
    await mkdir(dirname(target), { recursive: true })
    await cp(path, target, { recursive: true, verbatimSymlinks: true })
    const owner = isLast ? 0 : USER
    await own(step.target.endsWith('/') ? join(base, step.target) : target, owner)
  }
}

const own = (path: string, user: number) => sh('chown -hR "$2:$2" "$1"', path, String(user))

/**
 * What `npm ci` has already downloaded on this machine, so that the build does not download it again. The index is a
 * copy; the contents, hundreds of megabytes, are links.
 */
async function offerDownloads(home: string): Promise<void> {
  const cache = join(process.env.HOME ?? '', '.npm/_cacache')
  if (!existsSync(join(cache, 'content-v2'))) return
  const ours = join(home, '.npm/_cacache')
  await mkdir(ours, { recursive: true })
  await sh('cp -r "$1/index-v5" "$2" && { cp -al "$1/content-v2" "$2" || cp -r "$1/content-v2" "$2"; }', cache, ours)
  // The files of the contents are those of the cache: only their folders change hands.
  await sh(
    'find "$1" \\( -type d -o -path "*/index-v5/*" \\) -exec chown "$2:$2" {} +',
    join(home, '.npm'),
    String(USER),
  )
}

async function sh(command: string, ...args: string[]): Promise<void> {
  const [status] = await once(
    spawn('sh', ['-c', command, 'sh', ...args], { stdio: ['ignore', 'ignore', 'inherit'] }),
    'close',
  )
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${args.join(' ')}`)
}

/** PATH of a stage: this Node, and npm. */
export const PATH = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`

async function run(command: string, cwd: string, home: string): Promise<void> {
  const env = { PATH, HOME: home, npm_config_prefer_offline: 'true', ...registryOf(process.env) }
  const child = spawn('sh', ['-c', command], { cwd, env, uid: USER, gid: USER, stdio: ['ignore', 'pipe', 'pipe'] })
  const late = setTimeout(() => child.kill('SIGKILL'), STEP_MS)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const [status] = await once(child, 'close')
  clearTimeout(late)
  if (status !== 0) throw new Error(`RUN ${command}\nended with ${status} in ${await readdir(cwd)}\n${output}`)
}

/** How this machine reaches the registry of npm. */
function registryOf(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) =>
      /^(npm_config_registry|.*_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE)$/i.test(name),
    ),
  )
}
