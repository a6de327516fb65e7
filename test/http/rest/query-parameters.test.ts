import { readdirSync } from 'node:fs'
import type { DescService } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { ListEmailsRequestSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import { bindingsOf } from '../../../server/http/rest/bindings.ts'
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

const folder = new URL('../../../gen/verdict/v1/', import.meta.url)
const modules = await Promise.all(readdirSync(folder).map((file) => import(new URL(file, folder).href)))
const services = modules.flatMap((module) => Object.values(module) as DescService[])
const lists = bindingsOf(services.filter(({ kind }) => kind === 'service')).filter(({ verb }) => verb === 'GET')

test.for(lists)('every parameter is found by a name that is a letter away: $method.name', ({ method, inPath }) => {
  const names = [...queryFields(method.input, inPath).keys()]
  for (const name of names.filter(({ length }) => length >= 4))
    for (const typo of [`${name}s`, name.slice(1), name.replaceAll('_', ''), name.toUpperCase(), `x${name.slice(1)}`])
      if (!names.includes(typo)) expect(nearestName(typo, names), typo).toBe(name)
})

test('an unknown parameter is refused with the nearest name, or with all of them', () => {
  expect(faultOf('recipients=a@b.test')).toContain('is not a known query parameter; did you mean recipient?')
  expect(faultOf('zzz=1')).toContain(`known ones are ${[...fields.keys()].join(', ')}`)
})

test('the message names every faulty parameter, and each of its sentences has one mark at its end', () => {
  const queries = [
    'recipients=a',
    'metadata=a',
    'metadata.=a',
    'metadata[]=a',
    'tag=%F0%9F',
    '%ff=1',
    'limit=1&limit=2',
  ]
  for (const one of queries) {
    expect(faultOf(one)).toMatch(/[^.?][.?]$/)
    for (const other of queries) {
      const message = faultOf(`${one}&${other}`)
      for (const query of [one, other]) expect(message).toContain(`${query.split('=')[0]} `)
      expect(message).not.toMatch(/[.?;][.?;]/)
    }
  }
  expect(faultOf('metadata.=a')).toContain('metadata. needs a key, as in metadata.order=7.')
})

test('an address in the place of a time names the parameter of addresses', () => {
  expect(faultOf('to=ann@a.test')).toContain('must be a time; did you mean recipient?')
})

test('an empty filter would list everything: it is refused, but for cursor and limit', () => {
  expect(faultOf('recipient=')).toContain('must not be empty')
  expect(faultOf('cursor=&limit=')).toBe('none')
})
