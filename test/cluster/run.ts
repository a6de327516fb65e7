import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { installPackages } from '../real/packages.ts'
import { clusterPrograms } from './temporal.ts'

// `npm run cluster` runs the service on three machines with PostgreSQL under Patroni, and with Temporal, and breaks
// them. It passes arguments after `--` to Vitest.

if (process.getuid?.() !== 0) {
  console.error(
    'npm run cluster installs Debian packages and creates network namespaces: run it as root, on Debian 12.',
  )
  process.exit(1)
}
installPackages(['postgresql', 'etcd-server', 'haproxy', 'python3-venv'])
await clusterPrograms()
const args = ['run', '--config', 'vitest.cluster.config.ts', ...process.argv.slice(2)]
const vitest = spawn('vitest', args, { stdio: ['ignore', 'inherit', 'inherit'] })
const [status] = await once(vitest, 'close')
process.exitCode = status ?? 1
