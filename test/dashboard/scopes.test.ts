import { expect, test } from 'vitest'
import { scopeSentence, scopesOf } from '../../dashboard/settings/keys/scopes.ts'
import { SCOPES_OF } from '../../server/access/scopes.ts'

test('a key has the usual scopes, all that its kind can have, or those that were chosen', () => {
  expect(scopesOf('usual', SCOPES_OF.live, [])).toEqual(['emails.send', 'emails.read'])
  expect(scopesOf('all', SCOPES_OF.test, ['stats.read'])).toEqual(SCOPES_OF.test)
  expect(scopesOf('chosen', SCOPES_OF.test, ['stats.read', 'domains.write'])).toEqual(['stats.read'])
})

test('each scope that can be chosen says what it allows', () => {
  for (const scope of SCOPES_OF.live) expect(scopeSentence(scope), scope).not.toBe('')
})
