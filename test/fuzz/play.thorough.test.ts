import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { changedSince, isConcerned, lastLanded } from '../../fuzz/changed.ts'
import { keep, kept } from '../../fuzz/found.ts'
import { checkAll, type PlayOptions, play } from '../../fuzz/play.ts'
import { alone, type Target } from '../../fuzz/target.ts'
import { TARGETS } from '../../fuzz/targets.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { takes } from '../harness/waits.ts'

const options: PlayOptions = { seed: 1, seconds: 1, progress: () => {} }

/** A law about whole numbers and texts. */
const numbers = (check: (n: number) => void): Target<{ n: number; text: string }> => ({
  inputs: fc.record({ n: fc.nat(1_000_000), text: fc.string() }),
  start: () => alone(({ n }) => check(n)),
})

function below1000(n: number): void {
  if (n >= 1_000) throw new Error(`${n} is too large`)
}

test('the smallest input that breaks a law is found', async () => {
  const { runs, find } = await play(numbers(below1000), options)
  expect(runs).toBeLessThan(1_000)
  expect(find).toMatchObject({ input: { n: 1_000, text: '' }, error: { message: '1000 is too large' } })
})

test('a law that broke once and then holds is a find, too', async () => {
  let isFirst = true
  const once = (n: number) => {
    if (!isFirst) return
    isFirst = false
    throw new Error(`${n} came first`)
  }
  expect(await play(numbers(once), options)).toMatchObject({ find: { input: { n: expect.any(Number) } } })
})

test('the same seed checks the same inputs, and another seed others', async () => {
  const firstInputs = async (seed: number) => {
    const seen: number[] = []
    await play(
      numbers((n) => void seen.push(n)),
      { ...options, seed, seconds: 0.2 },
    )
    return seen.slice(0, 10)
  }
  const inputs = await firstInputs(1)
  expect(inputs).toHaveLength(10)
  expect(await firstInputs(1)).toEqual(inputs)
  expect(await firstInputs(2)).not.toEqual(inputs)
})

test('a law that breaks for the last input of the time is a find', async () => {
  const late: Target<number> = {
    inputs: fc.constant(1),
    start: () =>
      alone(async () => {
        await takes(100)
        throw new Error('late')
      }),
  }
  expect(await play(late, { ...options, seconds: 0.01 })).toMatchObject({ find: { error: { message: 'late' } } })
})

test('each kept input is checked again', async () => {
  const errors = await checkAll(numbers(below1000), [{ n: 1 }, { n: 1_000 }, { n: 2 }, { n: 2_000 }])
  expect(errors.map((error) => error?.message)).toEqual([
    undefined,
    '1000 is too large',
    undefined,
    '2000 is too large',
  ])
})

test('the programs of a law are stopped, also after a find', async () => {
  let stops = 0
  const target = { ...numbers(below1000), start: async () => ({ check: below1000, stop: () => void stops++ }) }
  await play(target as Target, { ...options, seconds: 0.05 })
  expect(stops).toBe(1)
})

test('an input that was kept is read back as it was', () => {
  const folder = temporaryFolder()
  const input = { text: 'half a pair \ud83d, NUL \0, \u2028', list: [1, 'ü'] }
  const file = keep('csv', input, folder)
  expect(kept(folder)).toEqual([{ target: 'csv', file, input }])
})

test('every file with a law at its head is a target, and no other', () => {
  const withLaw = globSync('fuzz/*.ts').filter((file) => readFileSync(file, 'utf8').startsWith('// The law: '))
  expect(withLaw.map((file) => basename(file, '.ts')).toSorted()).toEqual(Object.keys(TARGETS).toSorted())
})

test('everything that a target covers exists, and every kept input belongs to a target', () => {
  const covered = Object.values(TARGETS).flatMap(({ covers }) => covers)
  expect(covered.filter((path) => !existsSync(path) || path.endsWith('.ts') === path.endsWith('/'))).toEqual([])
  expect(kept().filter(({ target }) => !Object.hasOwn(TARGETS, target))).toEqual([])
})

test('a target is concerned by a change of what it covers and of the targets', () => {
  const covers = ['mail/mime/', 'mail/address.ts']
  for (const file of ['mail/mime/raw/read-raw.ts', 'mail/address.ts', 'fuzz/play.ts'])
    expect(isConcerned(covers, ['README.md', file]), file).toBe(true)
  expect(isConcerned(covers, ['README.md', 'mail/local-part.ts', 'mail/smtp/mx.ts'])).toBe(false)
  expect(isConcerned(covers, [])).toBe(false)
})

test('a commit that is not in the clone has no list of changes', () => {
  expect(changedSince('HEAD')).toBeInstanceOf(Array)
  expect(changedSince('0'.repeat(40))).toBeUndefined()
})

test('work begins at the commit where it left origin/main, and otherwise before its last commit', () => {
  const folder = temporaryFolder()
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=x', '-c', 'user.email=x@x.test', ...args], { encoding: 'utf8' })
  const commit = () => {
    git('commit', '--quiet', '--allow-empty', '--message', 'x')
    return git('rev-parse', 'HEAD').trim()
  }
  git('init', '--quiet')
  const landed = commit()
  expect(lastLanded(folder)).toBe('HEAD~1')
  git('update-ref', 'refs/remotes/origin/main', landed)
  expect(lastLanded(folder)).toBe('HEAD~1')
  commit()
  commit()
  expect(lastLanded(folder)).toBe(landed)
})
