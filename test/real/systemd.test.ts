import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { openFolder } from './daemon.ts'

// systemd's own judgement of the units. It needs the package, and no running systemd.

/** From 0, no exposure, to 10. Most services of Debian are between 8 and 10. */
const MOST_EXPOSED: Record<string, number> = {
  'verdict-api@8080.service': 1.5,
  'verdict-api@8081.service': 1.2,
  'verdict-worker.service': 1.2,
  'verdict-migrate.service': 1.2,
  'temporal@history.service': 1.2,
}
const UNITS = Object.keys(MOST_EXPOSED)

let root: string
let folder: string

beforeAll(async () => {
  root = await openFolder('systemd')
  folder = join(root, 'units')
  await cp('deploy/systemd', folder, { recursive: true })
  await cp('deploy/temporal/temporal@.service', join(folder, 'temporal@.service'))
  await cp('deploy/systemd/smtp.conf', join(folder, 'verdict-api@8080.service.d/60-smtp.conf'))
  // The units name the folder of an installation: this one is the repository.
  mkdirSync(join(root, 'opt'))
  symlinkSync(resolve('.'), join(root, 'opt/verdict'))
  for (const file of globSync('**/*.{service,conf}', { cwd: folder })) {
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8').replaceAll('/opt/verdict', join(root, 'opt/verdict'))
    // Any program takes the place of Temporal's server.
    writeFileSync(path, text.replace('/opt/temporal/temporal-server', process.execPath))
  }
})

function analyze(...args: string[]) {
  // The final colon keeps systemd's own folders, with the units that ours name.
  const env = { PATH: process.env.PATH, SYSTEMD_UNIT_PATH: `${folder}:`, SYSTEMD_LOG_LEVEL: 'warning' }
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { env, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

test.each(UNITS)('systemd finds no fault in %s', (unit) => {
  expect(analyze('verify', '--recursive-errors=no', unit)).toEqual({ status: 0, output: '' })
})

test('systemd finds a setting that it does not know, and a command that is not there', () => {
  writeFileSync(join(folder, 'verdict-wrong.service'), '[Service]\nProtectSytem=strict\nExecStart=/opt/nothing\n')
  const { status, output } = analyze('verify', '--recursive-errors=no', 'verdict-wrong.service')
  expect(output).toMatch(/Unknown key( name)? 'ProtectSytem'/)
  expect(output).toContain('/opt/nothing is not executable')
  expect(status).not.toBe(0)
})

test.each(UNITS)('%s exposes little of the machine', (unit) => {
  const limit = MOST_EXPOSED[unit]!
  const { output } = analyze('security', '--offline=true', '--no-pager', unit)
  const [, exposure] = /Overall exposure level for \S+: ([\d.]+)/.exec(output)!
  console.log(`${unit}: exposure ${exposure}`)
  expect(Number(exposure)).toBeLessThanOrEqual(limit)
})
