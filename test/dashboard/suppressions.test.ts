import { expect, test } from 'vitest'
import { withoutAddress } from '../../dashboard/suppressions/suppressions.ts'

test.each([
  ['550 5.1.1 <ann@example.com>: user unknown', '550 5.1.1 user unknown'],
  ['<Ann@Example.com> no such user', 'no such user'],
  ['550 no mailbox ann@example.com', '550 no mailbox ann@example.com'],
  ['550 <bob@example.com>: user unknown', '550 <bob@example.com>: user unknown'],
])('the list shows the reply %s without the address beside it', (reply, shown) => {
  expect(withoutAddress(reply, 'ann@example.com')).toBe(shown)
})
