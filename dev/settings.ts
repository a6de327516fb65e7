import { once } from 'node:events'
import { access, chmod, constants, mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { type Config, readConfig, reportFaults } from '../server/config/config.ts'
import { Problem } from './problem.ts'

/** What `npm start` provides itself; here only so that everything else is checked before anything is started. */
const PROVIDED = {
  DATABASE_URL: 'postgres://verdict@127.0.0.1/verdict',
  ENCRYPTION_KEYS: `dev:${Buffer.alloc(32).toString('base64')}`,
}

/** Where webhooks may go, over http too, when the environment does not say: to receivers that a person tries out here. */
export const THIS_MACHINE = '127.0.0.0/8,::1/128'

/** The environment as the API will read it. Ends the process with 78 when it is faulty. */
export function readSettings(): Config {
  if (process.env.NODE_ENV === 'production') {
    throw new Problem('npm start is for development: it keeps its keys in files. In production use npm run api.')
  }
  const given = Object.entries(process.env).filter(([, value]) => value !== '')
  const result = readConfig({ ...PROVIDED, ...Object.fromEntries(given) })
  return 'faults' in result ? reportFaults(result.faults) : result.config
}

/** Asked before anything else is started. Port 0 is always free. */
export async function portIsFree(name: string, host: string, port: number): Promise<void> {
  const server = createServer().listen({ host, port })
  try {
    await once(server, 'listening')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE')
      throw new Problem(`Nothing can listen on ${host} port ${port} (${code}). See ${name}, HOST.`)
    throw new Problem(
      `Port ${port} is in use on ${host}. If another \`npm start\` runs there, stop it with Ctrl-C;\n` +
        `otherwise take another port: ${name}=${port + 1} npm start`,
    )
  }
  await new Promise((closed) => server.close(closed))
}

/**
 * Creates the folder that DATA_DIR names when it does not exist. No other user can list it or write to it. Root's PostgreSQL runs as
 * another user, who has to pass through it.
 */
export async function makeDataDir(path: string): Promise<void> {
  try {
    const created = await mkdir(path, { recursive: true })
    if (created !== undefined) await chmod(path, process.getuid?.() === 0 ? 0o711 : 0o700)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Problem(`DATA_DIR must name a folder, or one that can be created: ${path} (${code}).`, { cause })
  }
}

/** Asked before anything is started: nothing else would be written to that folder before everything runs. */
export async function readyFileCanBeMade(path: string): Promise<void> {
  await access(dirname(path), constants.W_OK).catch((cause) => {
    throw new Problem(`VERDICT_READY_FILE must name a file in a folder that can be written: ${path} (${cause.code}).`, {
      cause,
    })
  })
}
