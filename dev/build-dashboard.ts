import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { BUILT_PAGES, NONCE } from '../server/http/dashboard-files.ts'

// `npm run build [folder]`: builds the dashboard's pages into dashboard/dist, each file also compressed. `npm ci` runs
// it. A running server never sees half of a build, because the finished folder takes the place of the previous one.

const DASHBOARD = new URL('../dashboard', import.meta.url).pathname
const COMPRESSIBLE = /\.(js|css|svg)$/

/** Vite; undefined after `npm ci --omit=dev`. */
async function loadVite() {
  try {
    return await import('vite')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    return undefined
  }
}

async function compress(folder: string): Promise<void> {
  const files = (await readdir(folder)).filter((name) => COMPRESSIBLE.test(name))
  await Promise.all(
    files.map(async (name) => {
      const path = join(folder, name)
      const bytes = await readFile(path)
      const params = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
      await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes, { params }))
      await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }))
    }),
  )
}

/** Puts a finished folder in the place of another. */
async function replaceFolder(finished: string, place: string): Promise<void> {
  const previous = `${finished}-previous`
  await rename(place, previous).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(finished, place)
  await rm(previous, { recursive: true, force: true })
}

// React would be its slow variant for development under any other value.
process.env.NODE_ENV = 'production'

const place = process.argv[2] ?? BUILT_PAGES
const vite = await loadVite()
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
