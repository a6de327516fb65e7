import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CliError } from '../../cli/command.ts'
import { writePieces } from '../../cli/output-file.ts'
import { temporaryFolder } from '../harness/until-end.ts'

async function newPath(): Promise<string> {
  const folder = temporaryFolder()
  return join(folder, 'ann.json')
}

async function* pieces(fault?: Error) {
  yield '{"rows": ['
  if (fault) throw fault
  yield ']}'
}

test('a file is whole, or is not there', async () => {
  const path = await newPath()
  await expect(writePieces(path, pieces(new Error('the service is gone')))).rejects.toThrow('the service is gone')
  await expect(readFile(path)).rejects.toThrow('ENOENT')
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
  await expect(writePieces(path, pieces(full))).rejects.toThrow(`${path} cannot be written: no space left`)
  await writePieces(path, pieces())
  expect(await readFile(path, 'utf8')).toBe('{"rows": []}')
})

test('a file that exists stays as it is', async () => {
  const path = await newPath()
  await writeFile(path, 'mine')
  await expect(writePieces(path, pieces())).rejects.toBeInstanceOf(CliError)
  expect(await readFile(path, 'utf8')).toBe('mine')
})
