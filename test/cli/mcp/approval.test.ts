import { expect, test, vi } from 'vitest'
import { createApproval } from '../../../cli/mcp/approval.ts'

const { signal } = new AbortController()

/** A client whose person takes this action; without one it cannot ask. */
function client(action?: 'accept' | 'decline' | 'cancel') {
  return {
    getClientCapabilities: () => (action ? { elicitation: { form: {} } } : {}),
    elicitInput: vi.fn(async () => ({ action: action! })),
  }
}

test('a client that cannot ask gets 20 live actions an hour', async () => {
  let now = 0
  const approve = createApproval(client(), () => now)
  for (let i = 0; i < 20; i++) {
    await approve('Send?', signal)
    now += 1_000
  }
  await expect(approve('Send?', signal)).rejects.toMatchObject({
    message: 'at most 20 live sends and replays an hour: try again in 3580 s',
    json: { error: 'too_many_live_actions', retry_after: 3_580 },
  })
  now = 3_600_000
  await approve('Send?', signal)
  await expect(approve('Send?', signal)).rejects.toThrow('try again in 1 s')
})

test('20 at a time are as many as 20 in a row', async () => {
  const approve = createApproval(client())
  const all = await Promise.allSettled(Array.from({ length: 30 }, () => approve('Send?', signal)))
  expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(20)
})

test.for(['decline', 'cancel'] as const)('%s is a no, and does not count', async (action) => {
  const approve = createApproval(client(action))
  for (let i = 0; i < 25; i++) await expect(approve('Send?', signal)).rejects.toThrow('the person declined')
})

test('a question that is not answered, or whose call was cancelled, is a no', async () => {
  const silent = { ...client('accept'), elicitInput: () => Promise.reject(new Error('Request timed out')) }
  await expect(createApproval(silent)('Send?', signal)).rejects.toThrow('nothing was done: no answer to the question')

  const cancelled = new AbortController()
  const late = client('accept')
  late.elicitInput.mockImplementation(async () => {
    cancelled.abort()
    return { action: 'accept' }
  })
  await expect(createApproval(late)('Send?', cancelled.signal)).rejects.toThrow('nothing was done')
})

test('the question has no characters that hide or reorder its text', async () => {
  const asking = client('accept')
  await createApproval(asking)('To: \u202eann@example.com', signal)
  expect(JSON.stringify(asking.elicitInput.mock.calls)).not.toContain('\u202e')
})
