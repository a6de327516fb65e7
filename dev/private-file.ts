import { readFile, rename, writeFile } from 'node:fs/promises'

/** Only its owner can read it, and nobody ever sees half of it. */
export async function writePrivately(path: string, text: string): Promise<void> {
  const unfinished = `${path}.${process.pid}.tmp`
  await writeFile(unfinished, text, { mode: 0o600 })
  await rename(unfinished, path)
}

/** undefined when there is no such file. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/** What is in the file, made once. */
export async function keep(path: string, make: () => string): Promise<string> {
  const kept = await readIfThere(path)
  if (kept !== undefined) return kept
  const made = make()
  await writePrivately(path, made)
  return made
}
