import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Failure, type Output } from './command.ts'

/** Writes pieces of text to a new file, which only its owner may read, or without a path to standard output. */
export async function writePieces(path: string | undefined, pieces: AsyncIterable<string>): Promise<void> {
  if (path === undefined) {
    for await (const piece of pieces) {
      if (!process.stdout.write(piece)) await once(process.stdout, 'drain')
    }
    return
  }
  try {
    await pipeline(Readable.from(pieces), createWriteStream(path, { flags: 'wx', mode: 0o600 }))
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException
    const isOfFile = syscall === 'open' || code === 'ENOSPC'
    throw isOfFile ? new Failure('usage', `${path} cannot be written: ${message}`) : error
  }
}

/** What a command prints that wrote pieces. Standard output then has the pieces alone. */
export const wroteTo = (path: string | undefined, output: Output): Output =>
  path === undefined ? { ...output, rest: nothing() } : output

async function* nothing() {}
