import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { turnFsyncOff } from '../harness/throwaway.ts'
import { startDebianPostgres } from './debian-postgres.ts'
import { installPackages } from './packages.ts'
import { unpackPackages } from './unpacked.ts'

// `npm run test:real` tests the product with servers that it meets in production, from Debian's packages. It installs
// missing packages and fails when one cannot be installed. It passes arguments after `--` to Vitest.

if (process.getuid?.() !== 0) {
  console.error(
    'npm run test:real installs Debian packages and starts mail servers: run it as root, on Debian 12 or later.',
  )
  process.exit(1)
}
console.log('Real components:')
installPackages()
unpackPackages()
const postgres = await startDebianPostgres()
await turnFsyncOff(postgres.url)
console.log(`The database of these tests is ${postgres.version}`)
const env = { ...process.env, TEST_DATABASE_URL: postgres.url }
const args = ['run', '--config', 'vitest.real.config.ts', ...process.argv.slice(2)]
const vitest = spawn('vitest', args, { env, stdio: ['ignore', 'inherit', 'inherit'] })
const [status] = await once(vitest, 'close')
await postgres.stop()
process.exitCode = status ?? 1
