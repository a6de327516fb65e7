import { readdirSync } from 'node:fs'
import type { DescFile, DescMethod } from '@bufbuild/protobuf'
import { createContextValues, type UnaryRequest, type UnaryResponse } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { createHeavyCallLimit, HEAVY_CALLS } from '../../server/access/heavy-calls.ts'
import { callerKey, endWorkKey } from '../../server/caller.ts'

// Which methods are heavy: their calls are limited by account.

/** Methods that read or start many things by their name, and why they are not heavy. */
const LIGHT: Record<string, string> = {
  'verdict.admin.v1.KeyService/ListKeys': 'at most 1,000 keys, without those that ended over 90 days ago',
  'verdict.admin.v1.PeopleService/ListPeople':
    'the people of an account, each of whom accepted one of 50 invitations a day',
  'verdict.admin.v1.PersonService/ListSessions': 'the 100 sessions of one person that were used last',
  'verdict.admin.v1.ImportService/ListImports': '50 rows by an index',
  'verdict.admin.v1.ImportService/ListImportFaults': '1,001 short rows by the primary key',
  'verdict.v1.EventService/ListChanges': 'pages of 100 by an index, of two streams at a time; it may wait for events',
  'verdict.admin.v1.ReplayService/ListDeliveryViews': 'three links, without a row',
  'verdict.admin.v1.InboxService/ListInbox': 'at most 500 messages in the memory of the process',
}

const FOLDERS = ['verdict/v1', 'verdict/admin/v1'].map((folder) => new URL(`../../gen/${folder}/`, import.meta.url))

async function allMethods(): Promise<DescMethod[]> {
  const paths = FOLDERS.flatMap((folder) => readdirSync(folder).map((name) => new URL(name, folder).href))
  const modules: Record<string, unknown>[] = await Promise.all(paths.map((path) => import(path)))
  const files = modules.flatMap(Object.entries).flatMap(([name, file]) => (/^file_/.test(name) ? file : []))
  return (files as DescFile[]).flatMap(({ services }) => services).flatMap(({ methods }) => methods)
}

const nameOf = (method: DescMethod) => `${method.parent.typeName}/${method.name}`
const HEAVY = HEAVY_CALLS.flatMap(({ methods }) => methods.map(nameOf))

test('every method that lists, counts, adds up, imports or starts work is heavy, or is known to be light', async () => {
  const methods = await allMethods()
  const many = methods.filter(({ name }) => /^(List|Count|Start|Import|Add)|Stats$|Overview$/.test(name)).map(nameOf)
  expect(many.length).toBeGreaterThan(15)
  const added = 'verdict.v1.SuppressionService/Add'
  expect(many.filter((name) => !HEAVY.includes(name) && !(name in LIGHT))).toEqual([added])
  expect(Object.keys(LIGHT).filter((name) => !many.includes(name) || HEAVY.includes(name))).toEqual([])
})

test('every method whose response is a page of a list is heavy', async () => {
  const pages = (await allMethods()).filter(({ output }) => output.fields.some(({ name }) => name === 'next_cursor'))
  expect(pages.map(nameOf).filter((name) => !HEAVY.includes(name))).toEqual([])
})

/** Groups whose calls are not bounded over all accounts, and what bounds the connections that they hold. */
const BOUNDED_ELSEWHERE: Record<string, string> = {
  'the start of a replay': 'it counts and writes in transactions, which server/db/bounded-transactions.ts bounds',
  'imports and lifts of addresses': 'they write in transactions, too',
}

test('the calls of all accounts together are bounded in every group, here or where its reason says', () => {
  const unbounded = HEAVY_CALLS.filter(({ ofAll = Infinity }) => ofAll > 5).map(({ what }) => what)
  expect(unbounded).toEqual(Object.keys(BOUNDED_ELSEWHERE))
})

test('no method is in two groups', () => {
  expect(new Set(HEAVY).size).toBe(HEAVY.length)
})

test('a heavy call of any method no longer keeps other calls of its account waiting while it waits or works', async () => {
  const isAtHand: boolean[] = []
  for (const { methods } of HEAVY_CALLS)
    for (const method of methods) {
      let ended = false
      const contextValues = createContextValues()
      contextValues.set(callerKey, { accountId: 'a', test: false }).set(endWorkKey, () => {
        ended = true
      })
      const work = createHeavyCallLimit()(async () => {
        isAtHand.push(!ended)
        return {} as UnaryResponse
      })
      await work({ method, contextValues, signal: new AbortController().signal } as unknown as UnaryRequest)
    }
  expect(isAtHand).toEqual(HEAVY.map(() => false))
})
