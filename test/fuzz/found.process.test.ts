import { relative } from 'node:path'
import { expect, test } from 'vitest'
import { kept } from '../../fuzz/found.ts'
import { checkAll } from '../../fuzz/play.ts'
import { TARGETS } from '../../fuzz/targets.ts'

test.for(Object.entries(TARGETS))(
  'the law of %s holds for every input that once broke it',
  async ([name, { load }]) => {
    const found = kept().filter(({ target }) => target === name)
    if (found.length === 0) return
    const errors = await checkAll(
      await load(),
      found.map(({ input }) => input),
    )
    const broken = found.flatMap(({ file }, i) => (errors[i] ? [`${relative('', file)}: ${errors[i].message}`] : []))
    expect(broken).toEqual([])
  },
)
