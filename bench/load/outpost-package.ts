import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../../dev/temporal/install-options.ts'

const VERSION = '1.1.0'
const PROGRAMS = ['outpost', 'outpost-server']

/** Builds Hookdeck's Outpost with Go, which takes minutes, and caches it. Returns the folder of its programs. */
export function buildOutpost(): string {
  const cache = cacheFolder(process.env)
  const cached = join(cache, `outpost-${VERSION}-${process.platform}-${process.arch}`)
  if (existsSync(cached)) return cached
  console.log(`building Outpost ${VERSION} with Go`)
  mkdirSync(cache, { recursive: true })
  const dir = mkdtempSync(join(cache, 'outpost-build-'))
  const go = (...args: string[]) => execFileSync('go', args, { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] })
  try {
    // As tools of our own module, because `go install` refuses modules that replace others.
    go('mod', 'init', 'verdict.local/outpost')
    go('get', '-tool', ...PROGRAMS.map((program) => `github.com/hookdeck/outpost/cmd/${program}@v${VERSION}`))
    mkdirSync(join(dir, 'bin'))
    go('build', '-o', join(dir, 'bin'), 'tool')
    renameSync(join(dir, 'bin'), cached)
    return cached
  } catch (cause) {
    throw new Error('The peer Outpost could not be built: it needs Go 1.26.', { cause })
  } finally {
    rmSync(dir, { recursive: true })
  }
}
