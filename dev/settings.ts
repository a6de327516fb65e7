import { once } from 'node:events'
import { createServer } from 'node:net'
import { type Config, readConfig, reportFaults } from '../server/config.ts'
import { Problem } from './problem.ts'

/** What `npm start` provides itself; here only so that everything else is checked before anything is started. */
const PROVIDED = {
  DATABASE_URL: 'postgres://verdict@127.0.0.1/verdict',
  ENCRYPTION_KEYS: `dev:${Buffer.alloc(32).toString('base64')}`,
}

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
