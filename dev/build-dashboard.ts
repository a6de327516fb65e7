import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BUILT_PAGES } from '../server/http/site/built-files.ts'
import { NONCE } from '../server/http/site/dashboard-files.ts'
import { compress, ifInstalled, replaceFolder } from './built-folder.ts'

// `node dev/build-dashboard.ts [folder]`, part of `npm run build`: builds the dashboard's pages into dashboard/dist,
// each file also compressed. `npm ci` runs it.

const DASHBOARD = new URL('../dashboard', import.meta.url).pathname

// React would be its slow variant for development under any other value.
process.env.NODE_ENV = 'production'

const place = process.argv[2] ?? BUILT_PAGES
const vite = await ifInstalled(() => import('vite'))
if (vite) {
  const startedAt = performance.now()
  const outDir = await mkdtemp(join(dirname(place), '.dist-'))
  try {
    await vite.build({
      configFile: join(DASHBOARD, 'vite.config.ts'),
      logLevel: 'warn',
      html: { cspNonce: NONCE },
      build: { outDir, emptyOutDir: true },
    })
    await compress(join(outDir, 'assets'))
    if (!readFileSync(join(outDir, 'index.html'), 'utf8').includes(NONCE)) throw new Error('index.html has no nonce')
    // A temporary folder lets only its owner in, and the server runs as another user.
    await chmod(outDir, 0o755)
    await replaceFolder(outDir, place)
  } finally {
    await rm(outDir, { recursive: true, force: true })
  }
  console.log(`The dashboard is built (${((performance.now() - startedAt) / 1000).toFixed(1)} s).`)
} else {
  console.log('The dashboard is not built: Vite is a development dependency, and none are installed.')
}
