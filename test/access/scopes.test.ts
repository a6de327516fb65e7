import { globSync } from 'node:fs'
import { join } from 'node:path'
import { type DescFile, getOption } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { scope } from '../../gen/verdict/v1/options_pb.ts'
import { SCOPES } from '../../server/access/scopes.ts'

test('every method of every service of the contract asks for a scope that a key can have', async () => {
  const methods = []
  for (const path of globSync('gen/verdict/v1/*_pb.ts')) {
    for (const file of Object.values(await import(join(process.cwd(), path))).filter(isFile)) {
      methods.push(...file.services.flatMap((service) => service.methods))
    }
  }
  expect(methods.length).toBeGreaterThan(2)
  const asked = methods.map((method) => getOption(method, scope))
  expect([...new Set(asked)].sort()).toEqual(SCOPES)
})

function isFile(value: unknown): value is DescFile {
  return (value as { kind?: unknown }).kind === 'file'
}
