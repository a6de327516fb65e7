import { expect, test } from 'vitest'
import { actionWords, entryWords } from '../../dashboard/settings/audit/actions.ts'
import { changedFields } from '../../dashboard/settings/audit/field-words.ts'
import { ACTIONS } from '../../server/access/audit/actions.ts'

test('an import has words for its start, its end, and a list of addresses', () => {
  expect(entryWords('suppression.import', { state: 'running' })).toBe('Began to import')
  expect(entryWords('suppression.import', { state: 'finished' })).toBe('Finished the import of')
  expect(entryWords('suppression.import', {})).toBe('Imported suppressions:')
})

test('the result of an import is in words, with its counts', () => {
  const before = { state: 'running', imported: null, already_suppressed: null }
  const after = { state: 'finished', imported: 25_000, already_suppressed: 1 }
  expect(changedFields('suppression.import', before, after)).toEqual([
    { name: 'imported', before: undefined, after: '25,000' },
    { name: 'already suppressed', before: undefined, after: '1' },
  ])
})

test('a field without a value is left out, and one that lost its value has none', () => {
  expect(changedFields('key.create', {}, { scopes: ['emails.send'], test: false, expires_at: null })).toEqual([
    { name: 'scopes', before: undefined, after: 'emails.send' },
    { name: 'test key', before: undefined, after: 'no' },
  ])
  expect(changedFields('account.tier', { tier: 'pro' }, { tier: null })).toEqual([
    { name: 'tier', before: 'pro', after: 'none' },
  ])
})

test('the filter of a replay is in words', () => {
  const after = { filter: { notAcknowledged: true, tenantId: 'shop-7' }, per_second: 50 }
  expect(changedFields('replay.start', {}, after)).toEqual([
    { name: 'filter', before: undefined, after: 'not acknowledged yes, tenant id shop-7' },
    { name: 'at most per second', before: undefined, after: '50' },
  ])
})

test.each(ACTIONS)('%s has words', (action) => {
  expect(actionWords(action)).not.toBe(action)
})

test('the set-up and the end of a second factor have words of their own', () => {
  expect(entryWords('person.second_factor', { on: true })).toBe('Set up the second factor of')
  expect(entryWords('person.second_factor', { on: false })).toBe('Ended the second factor of')
  expect(changedFields('person.second_factor', { on: false }, { on: true })).toEqual([])
})

test('failed sign-ins say how many', () => {
  expect(entryWords('person.fail_sign_in', { failures: 10 })).toBe('Failed to sign in as')
  expect(changedFields('person.fail_sign_in', {}, { failures: 10 })).toEqual([
    { name: 'times', before: undefined, after: '10' },
  ])
})
