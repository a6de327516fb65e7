import { once } from 'node:events'
import { access, chmod, constants, mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { type Config, readConfig, reportFaults, textOf } from '../server/config/config.ts'
import { VARIABLES } from '../server/config/variables.ts'
import { Problem } from './problem.ts'

/** Placeholders for what `npm start` provides, so that all other variables are checked before anything starts. */
const PLACEHOLDERS = {
  DATABASE_URL: 'postgres://verdict@127.0.0.1/verdict',
  ENCRYPTION_KEYS: `dev:${Buffer.alloc(32).toString('base64')}`,
}

/** What was set for the two variables, also in files; undefined for what `npm start` has to provide. */
export interface GivenSettings {
  databaseUrl: string | undefined
  encryptionKeys: string | undefined
}

/** By default webhooks may go to endpoints on this machine, over http too, so that you can try out receivers. */
export const THIS_MACHINE = '127.0.0.0/8,::1/128'

/**
 * Reads the environment as the API will read it, for `command`. Ends the process with 78 when a variable is invalid.
 */
export function readSettings(command = 'npm start'): { config: Config; given: GivenSettings } {
  if (process.env.NODE_ENV === 'production') {
    throw new Problem(`${command} is for development: it keeps its keys in files. In production use npm run api.`)
  }
  const env = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''))
  const placeholders = Object.entries(PLACEHOLDERS).filter(([name]) => !env[name] && !env[`${name}_FILE`])
  const result = readConfig({ ...env, ...Object.fromEntries(placeholders) })
  if ('faults' in result) return reportFaults(result.faults)
  for (const warning of result.warnings) console.error(warning)
  const given = {
    databaseUrl: textOf(VARIABLES.databaseUrl, env),
    encryptionKeys: textOf(VARIABLES.encryptionKeys, env),
  }
  return { config: result.config, given }
}

/** Throws a Problem when the port is in use. Called before anything starts. Port 0 is always free. */
export async function checkPort(name: string, host: string, port: number): Promise<void> {
  const server = createServer().listen({ host, port })
  try {
    await once(server, 'listening')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE')
      throw new Problem(`Cannot listen on port ${port} of ${host} (${code}). Check ${name} and HOST.`)
    throw new Problem(
      `Port ${port} is in use on ${host}. If another \`npm start\` runs there, stop it with Ctrl-C;\n` +
        `otherwise use another port: ${name}=${port + 1} npm start`,
    )
  }
  await new Promise((closed) => server.close(closed))
}

/**
 * Creates the folder that DATA_DIR names, unless it exists. No other user can list it or write to it. Root's PostgreSQL
 * runs as another user, which must be able to pass through it.
 */
export async function createDataDir(path: string): Promise<void> {
  try {
    const created = await mkdir(path, { recursive: true })
    if (created !== undefined) await chmod(path, process.getuid?.() === 0 ? 0o711 : 0o700)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Problem(`DATA_DIR must name a folder, or one that can be created: ${path} (${code}).`, { cause })
  }
}

/** Throws a Problem when the file cannot be written. Called before anything starts; the file is written last. */
export async function checkReadyFile(path: string): Promise<void> {
  await access(dirname(path), constants.W_OK).catch((cause) => {
    throw new Problem(`VERDICT_READY_FILE must name a file in a folder that can be written: ${path} (${cause.code}).`, {
      cause,
    })
  })
}
