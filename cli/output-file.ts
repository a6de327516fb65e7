import { once } from 'node:events'
import { open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CliError, type Output } from './command.ts'

/**
 * Writes pieces of text to a new file, which only its owner may read, or without a path to standard output. After a
 * fault there is no file, because half of one looks like a whole one.
 */
export async function writePieces(path: string | undefined, pieces: AsyncIterable<string>): Promise<void> {
  if (path === undefined) {
    for await (const piece of pieces) {
      if (!process.stdout.write(piece)) await once(process.stdout, 'drain')
    }
    return
  }
  const unwritable = ({ message }: Error) => new CliError('usage', `${path} cannot be written: ${message}`)
  const file = await open(path, 'wx', 0o600).catch((error) => {
    throw unwritable(error)
  })
  try {
    await pipeline(Readable.from(pieces), file.createWriteStream())
  } catch (error) {
    await rm(path)
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? unwritable(error as Error) : error
  }
}

/** What a command prints that wrote pieces. Standard output then has the pieces alone. */
export const wroteTo = (path: string | undefined, output: Output): Output =>
  path === undefined ? { ...output, rest: nothing() } : output

async function* nothing() {}
