import { expect, test } from 'vitest'
import { zoneFileOf } from '../../dashboard/domains/zone-file.ts'

test('the records of a domain are lines of a zone file; one whose value is not known yet is left out', () => {
  const record = (type: string, host: string, value: string, strings: string[] = []) => ({ type, host, value, strings })
  const records = [
    record('TXT', 'rp.example.com', 'v=spf1 ip4:203.0.113.7 -all'),
    record('MX', 'rp.example.com', '10 mail.example.net'),
    record('CNAME', 'rp.example.org', 'bounces.example.net'),
    record('TXT', 'v1._domainkey.example.com', 'v=DKIM1; p=AB', ['v=DKIM1; p=A', 'B']),
    record('TXT', '_dmarc.example.com', 'a "quoted" \\ value'),
    record('MX', 'unknown.example.com', ''),
  ]
  expect(zoneFileOf(records).split('\n')).toEqual([
    'rp.example.com. 3600 IN TXT "v=spf1 ip4:203.0.113.7 -all"',
    'rp.example.com. 3600 IN MX 10 mail.example.net.',
    'rp.example.org. 3600 IN CNAME bounces.example.net.',
    'v1._domainkey.example.com. 3600 IN TXT "v=DKIM1; p=A" "B"',
    '_dmarc.example.com. 3600 IN TXT "a \\"quoted\\" \\\\ value"',
    '',
  ])
})
