import { create } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldedRecipients, outcomeCounts } from '../../dashboard/messages/folded-recipients.ts'
import { type Feedback, FeedbackSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, RecipientOutcomeSchema } from '../../gen/verdict/v1/outcomes_pb.ts'

const { DELIVERED, BOUNCED } = DeliveryStatus
const recipient = (email: string, status: DeliveryStatus) => create(RecipientOutcomeSchema, { email, status })
const report = (recipient: string): Feedback => create(FeedbackSchema, { recipient })

test('every recipient is shown or folded, failed ones first, and at most ten rows and the open one are shown', () => {
  const drawn = fc.array(fc.record({ failed: fc.boolean(), reported: fc.boolean() }), { minLength: 1, maxLength: 50 })
  const property = fc.property(drawn, fc.nat(60), (drawn, openAt) => {
    const all = drawn.map(({ failed }, i) => recipient(`u${i}@example.com`, failed ? BOUNCED : DELIVERED))
    const reports = drawn.flatMap(({ reported }, i) => (reported ? [report(`u${i}@example.com`)] : []))
    const open = all[openAt]?.email
    const { shown, folded } = foldedRecipients(all, reports, open)
    expect(new Set([...shown, ...folded])).toEqual(new Set(all))
    expect(shown.length + folded.length).toBe(all.length)
    expect(shown.length).toBeGreaterThan(0)
    expect(shown.length).toBeLessThanOrEqual(open === undefined ? 10 : 11)
    if (open !== undefined) expect(shown.map(({ email }) => email)).toContain(open)
    const matters = drawn.filter(({ failed, reported }) => failed || reported).length
    const first = shown.slice(0, Math.min(matters, 10)).map(({ email }) => drawn[Number(/\d+/.exec(email)![0])]!)
    expect(first.every(({ failed, reported }) => failed || reported)).toBe(true)
    if (all.length <= 5) expect(folded).toEqual([])
  })
  fc.assert(property, { numRuns: 300 })
})

test('a button says who is folded', () => {
  const folded = [recipient('a@x.test', BOUNCED), recipient('b@x.test', DELIVERED), recipient('c@x.test', DELIVERED)]
  expect(outcomeCounts(folded)).toBe('1 bounced and 2 delivered')
})
