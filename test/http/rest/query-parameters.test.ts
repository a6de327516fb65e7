import { expect, test } from 'vitest'
import { ListEmailsRequestSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import { nearestName } from '../../../server/http/rest/nearest-name.ts'
import { queryFields, readQuery } from '../../../server/http/rest/query-parameters.ts'

const fields = queryFields(ListEmailsRequestSchema, [])
const faultOf = (query: string) => {
  try {
    readQuery(fields, `/api/v1/emails?${query}`)
    return 'none'
  } catch (error) {
    return (error as Error).message
  }
}

test.for([...fields.keys()])('every parameter is found by a name that is a letter away: %s', (name) => {
  const names = [...fields.keys()]
  if (name.length < 4) return
  for (const typo of [`${name}s`, name.slice(1), name.replaceAll('_', ''), name.toUpperCase(), `x${name.slice(1)}`]) {
    if (names.includes(typo)) continue
    expect(nearestName(typo, names)).toBe(name)
  }
})

test('an unknown parameter is refused with the nearest name, or with all of them', () => {
  expect(faultOf('recipients=a@b.test')).toContain('is not a known query parameter; did you mean recipient?')
  expect(faultOf('zzz=1')).toContain(`known ones are ${[...fields.keys()].join(', ')}`)
})

test('an address in the place of a time names the parameter of addresses', () => {
  expect(faultOf('to=ann@a.test')).toContain('must be a time; did you mean recipient?')
})

test('an empty filter would list everything: it is refused, but for cursor and limit', () => {
  expect(faultOf('recipient=')).toContain('must not be empty')
  expect(faultOf('cursor=&limit=')).toBe('none')
})
