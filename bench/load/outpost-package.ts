import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../../dev/temporal/bring-up.ts'

const VERSION = '1.1.0'
const PROGRAMS = ['outpost', 'outpost-server']

/** Hookdeck's Outpost, built with Go the first time, which takes minutes, and kept. Gives the folder of its programs. */
export function buildOutpost(): string {
  const cache = cacheFolder(process.env)
  const kept = join(cache, `outpost-${VERSION}-${process.platform}-${process.arch}`)
  if (existsSync(kept)) return kept
  console.log(`building Outpost ${VERSION} with Go`)
  mkdirSync(cache, { recursive: true })
  const dir = mkdtempSync(join(cache, 'outpost-build-'))
  const go = (...args: string[]) => execFileSync('go', args, { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] })
  try {
    // Tools of a module of our own: `go install` refuses modules that replace others.
    go('mod', 'init', 'verdict.local/outpost')
    go('get', '-tool', ...PROGRAMS.map((program) => `github.com/hookdeck/outpost/cmd/${program}@v${VERSION}`))
    mkdirSync(join(dir, 'bin'))
    go('build', '-o', join(dir, 'bin'), 'tool')
    renameSync(join(dir, 'bin'), kept)
    return kept
  } catch (cause) {
    throw new Error('The peer Outpost could not be built: it needs Go 1.26.', { cause })
  } finally {
    rmSync(dir, { recursive: true })
  }
}
