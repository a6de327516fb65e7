import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startApi } from '../services/api.ts'
import { installClient, PRINTED, PROGRAM, run } from './package.ts'

// The client as its users get it: packed, installed into a clean project, without the rest of this repository. The
// project is on Node 26 here. test/real/client.test.ts has Node 20, Bun and Deno.

const api = await startApi()
const folder = await installClient()
afterAll(() => rm(folder, { recursive: true, force: true }))

test("the guide's program runs in a project that has only the packed client", async () => {
  await writeFile(join(folder, 'program.ts'), PROGRAM)
  const env = { VERDICT_URL: api.url, VERDICT_API_KEY: api.keys.live }
  const { stdout } = await run(process.execPath, ['program.ts'], { cwd: folder, env })
  expect(stdout).toBe(PRINTED)
})

test('the package depends on nothing', async () => {
  const { stdout } = await run('npm', ['ls', '--all', '--json'], { cwd: folder })
  expect(Object.keys(JSON.parse(stdout).dependencies)).toEqual(['@verdict/client'])
  expect(JSON.parse(stdout).dependencies['@verdict/client'].dependencies).toBeUndefined()
})
