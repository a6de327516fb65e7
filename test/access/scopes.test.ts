import { globSync } from 'node:fs'
import { join } from 'node:path'
import { type DescFile, type DescMethod, getOption } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { scope } from '../../gen/verdict/v1/options_pb.ts'
import { mayCall, SCOPES, scopeOf } from '../../server/access/scopes.ts'

test('every method of every service of the contract requires a scope that a key can have, or any', async () => {
  const methods: DescMethod[] = []
  for (const path of globSync('gen/verdict/v1/*_pb.ts')) {
    for (const file of Object.values(await import(join(process.cwd(), path))).filter(isFile)) {
      methods.push(...file.services.flatMap((service) => service.methods))
    }
  }
  expect(methods.length).toBeGreaterThan(2)
  const asked = new Set(methods.map((method) => getOption(method, scope)))
  asked.delete('any')
  expect([...asked].sort()).toEqual(SCOPES)
  for (const method of methods) {
    expect(mayCall(new Set(), method)).toBe(scopeOf(method) === 'any')
    expect(mayCall(new Set(SCOPES), method)).toBe(true)
  }
})

function isFile(value: unknown): value is DescFile {
  return (value as { kind?: unknown }).kind === 'file'
}
