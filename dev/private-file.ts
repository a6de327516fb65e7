import { readFile, rename, writeFile } from 'node:fs/promises'

/** Writes a file that only its owner can read. Readers see the old text or the new one, never a part. */
export async function writePrivately(path: string, text: string): Promise<void> {
  const unfinished = `${path}.${process.pid}.tmp`
  await writeFile(unfinished, text, { mode: 0o600 })
  await rename(unfinished, path)
}

/** Reads a file; undefined when it does not exist. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/** Returns the file's text. The first call creates it with `create`. */
export async function readOrCreate(path: string, create: () => string): Promise<string> {
  const stored = await readIfThere(path)
  if (stored !== undefined) return stored
  const text = create()
  await writePrivately(path, text)
  return text
}
