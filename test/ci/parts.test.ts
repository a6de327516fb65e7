import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PARTS } from '../../.ci/parts.ts'
import { partsTable, printedTable } from '../../.ci/times.ts'

interface Project {
  test: { name: string; include: string[]; exclude?: string[] }
}

/** The files of a project of a configuration of Vitest. */
async function filesOf(config: string, project: string): Promise<string[]> {
  const { default: found } = await import(`../../${config}`)
  const projects: Project[] = found.test.projects
  const { include, exclude = [] } = projects.find(({ test: { name } }) => name === project)!.test
  return globSync(include, { exclude })
}

test('every test runs in exactly one part', async () => {
  const runs = PARTS.flatMap(({ tests }) => tests?.projects.map((project) => [tests.config, project] as const) ?? [])
  // These run once more, on another PostgreSQL.
  const once = runs.filter(([, project]) => project !== 'database')
  const files = (await Promise.all(once.map(([config, project]) => filesOf(config, project)))).flat()
  expect(files.toSorted()).toEqual(globSync('test/**/*.test.ts').toSorted())
})

test('CONTRIBUTING prints the parts as `npm run ci:times` does, each with a time', () => {
  const { table, minutes } = printedTable()
  expect(table).toBe(partsTable(({ name }) => minutes.get(name) ?? 'missing'))
})

test('a part names rooms that exist, and only where it does not run for every change', () => {
  for (const { each, rooms } of PARTS) {
    expect(rooms.length > 0).toBe(each === 'release')
    for (const room of rooms) expect(globSync(`${room}*`), room).not.toEqual([])
  }
})
