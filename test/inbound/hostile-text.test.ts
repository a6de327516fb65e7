import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readReport } from '../../server/inbound/report.ts'
import { HOSTILE, hostile } from '../harness/hostile.ts'
import { arf, dsn } from './report-forms.ts'

test('no harmful character of a report is stored, whatever its text is', async () => {
  await fc.assert(
    fc.asyncProperty(hostile, hostile, async (words, notice) => {
      const line = words.replace(/[\r\n]/g, ' ')
      const fields = [
        `Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 ${line}`,
      ]
      const bounce = await readReport(Buffer.from(dsn({ notice, fields })))
      expect(bounce).toMatchObject({ kind: 'bounce', failures: [{ detail: expect.not.stringMatching(HOSTILE) }] })
      const complaint = await readReport(Buffer.from(arf({ fields: `Original-Rcpt-To: ${line}\n` })))
      expect(complaint).toMatchObject({ kind: 'complaint', type: 'abuse' })
    }),
    { numRuns: 100 },
  )
})

test('no half of a character is stored when a report is cut in its middle', async () => {
  const fields = [
    `Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 ${'x'.repeat(4_091)}🙂`,
  ]
  const bounce = await readReport(Buffer.from(dsn({ fields })))
  expect(bounce).toMatchObject({ failures: [{ detail: expect.not.stringMatching(HOSTILE) }] })
})
