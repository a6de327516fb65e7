import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const COMPRESSIBLE = /\.(js|css|svg|html|json)$/

/** Writes the compressed forms of every text in a folder beside it. */
export async function compress(folder: string): Promise<void> {
  const files = (await readdir(folder, { recursive: true })).filter((name) => COMPRESSIBLE.test(name))
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

/** What `load` imports; undefined without the development dependencies, as after `npm ci --omit=dev`. */
export async function ifInstalled<Module>(load: () => Promise<Module>): Promise<Module | undefined> {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    return undefined
  }
}

/** Puts a finished folder in the place of another. A running server never sees half of a build. */
export async function replaceFolder(finished: string, place: string): Promise<void> {
  const previous = `${finished}-previous`
  await rename(place, previous).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(finished, place)
  await rm(previous, { recursive: true, force: true })
}
