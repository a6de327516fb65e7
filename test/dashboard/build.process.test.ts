import { execFile } from 'node:child_process'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../harness/until-end.ts'

const INITIAL_BYTES = 200 * 1_000
const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const build = () => promisify(execFile)(process.execPath, ['dev/build-dashboard.ts', folder])

const parent = temporaryFolder()
const folder = join(parent, 'dist')
await build()

test('the first page loads at most 200 KB of JavaScript, compressed by gzip', () => {
  const scripts = new Set(
    [...read('index.html').matchAll(/"\/dashboard\/(assets\/[^"]+\.js)"/g)].map(([, name]) => name!),
  )
  // A script that another one imports statically is loaded with it.
  for (const name of scripts) {
    for (const [, imported] of read(name).matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g))
      scripts.add(`assets/${imported}`)
  }
  const sizes = [...scripts].map((name) => statSync(join(folder, `${name}.gz`)).size)
  expect(sizes.length).toBeGreaterThan(0)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(INITIAL_BYTES)
})

test('no file loads anything from another origin', () => {
  for (const name of globSync('**/*.{html,css,js,svg}', { cwd: folder })) {
    expect(read(name), name).not.toMatch(/(?:src|href|action)=["']?(?:https?:)?\/\/|url\(["']?(?:https?:)?\/\/|@import/)
    expect(read(name), name).not.toMatch(
      /(?:import|fetch|importScripts|Worker|EventSource|WebSocket)\(\s*["'`](?:https?:)?\/\//,
    )
  }
})

test('every file is there in each compressed form, with the same content', () => {
  const names = globSync('assets/*.{js,css,svg}', { cwd: folder })
  expect(names.length).toBeGreaterThan(3)
  for (const name of names) {
    const bytes = readFileSync(join(folder, name))
    expect(gunzipSync(readFileSync(join(folder, `${name}.gz`))).equals(bytes), name).toBe(true)
    expect(brotliDecompressSync(readFileSync(join(folder, `${name}.br`))).equals(bytes), name).toBe(true)
  }
})

test('a second build takes the place of the first and leaves nothing beside it', async () => {
  await build()
  expect(globSync('*', { cwd: parent, dot: true } as object).concat(globSync('.*', { cwd: parent }))).toEqual(['dist'])
})
