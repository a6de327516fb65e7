import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { judgeFailure } from '../../mail/smtp/failure.ts'
import { readConfig } from '../../server/config/config.ts'
import { leaseOf } from '../../server/config/limits.ts'

// Facts that a guide states and no snippet shows, against the code.

const textOf = (file: string) => readFileSync(file, 'utf8').replace(/\s+/g, ' ')

test('the guide to the API says how long a send takes at most, how long a client waits, and what in_doubt means', () => {
  const keys = `k1:${Buffer.alloc(32).toString('base64')}`
  const reading = readConfig({ DATABASE_URL: 'postgres://127.0.0.1/verdict', ENCRYPTION_KEYS: keys })
  if ('faults' in reading) throw new Error(JSON.stringify(reading.faults))
  const { sendBudgetMs } = reading.config
  const guide = textOf('docs/api.md')
  const seconds = /up to (\d+) seconds\. Set your client's timeout to at least (\d+) seconds\./.exec(guide)
  expect(seconds?.slice(1).map((text) => Number(text) * 1_000)).toEqual([sendBudgetMs, leaseOf(sendBudgetMs)])
  expect(guide).toMatch(/`bounced` with `connection_timeout` and `"in_doubt": true`\. The service never sends/)
})

test('the guide to going live names the reason of mail that may not leave in clear text', () => {
  const { outcome } = judgeFailure({ kind: 'failure', phase: 'starttls', how: 'insecure' }, 'mx.example.net')
  const { reason } = outcome as Extract<typeof outcome, { kind: 'bounced' }>
  expect(textOf('docs/going-live.md')).toMatch(
    new RegExp(`\`require_tls\`[^#]* the email is \`bounced\` with \`${reason}\``),
  )
})
