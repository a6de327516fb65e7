import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ROWS } from './readers.ts'

// A parser is only as quick as its worst input. Each file that calls one has a row in readers.ts, which measures it
// with every filler, or a reason why no caller chooses what it reads.

const PARSERS =
  /\bJSON\.parse\(|\bnew TextDecoder\(|from '(?:node:zlib|postal-mime|csv-parse[^']*)'|import\('(?:node:zlib|postal-mime|csv-parse)/

/** The rows that measure a file. */
const MEASURED: Record<string, string[]> = {
  'address-files/address-list.ts': ['file of addresses: CSV'],
  'address-files/csv.ts': ['file of addresses: CSV'],
  'address-files/json.ts': ['file of addresses: JSON'],
  'mail/mime/encoded-words.ts': ['send: subject', 'raw: Subject'],
  'mail/mime/parameters.ts': ['send: media type', 'raw: multipart'],
  'mail/mime/raw/parts.ts': ['raw: calendar', 'dashboard: text'],
  'server/erasure/scan.ts': ['erasure: request'],
  'server/http/body/gunzip.ts': ['gzip'],
  'server/http/rest/json-position.ts': ['JSON: bare', 'JSON: in a list', 'JSON: in a text'],
  'server/http/rest/json-text.ts': ['JSON: bare', 'send: text'],
  'server/inbound/mime-parts.ts': ['report: text', 'report: HTML', 'report: base64'],
}

/** Why no stranger can make the input of a file dear. */
const UNMEASURED: Record<string, string> = {
  'cli/doctor/service.ts': 'the response of the operator’s own service',
  'cli/environment.ts': 'files that the service wrote',
  'cli/mcp/contract.ts': 'a file of the release',
  'cli/receipt.ts': 'a file that its reader chose, in a process of its own',
  'client/call.ts': 'the response of the service, in the process of its caller',
  'client/verify-webhook.ts': 'a body whose signature was checked',
  'dashboard/settings/audit/change.tsx': 'an entry of at most a few KiB, in a browser',
  'server/access/api-key.ts': 'a checksum of a key, whose length was checked',
  'server/access/people/oidc/request-cookie.ts': 'a cookie that the service sealed',
  'server/access/people/sign-in-errors.ts': 'the errors of the library that signs people in',
  'server/archive/addresses.ts': 'rows of the operator’s own archive, in a process of its own',
  'server/archive/days.ts': 'a manifest of the operator’s own archive',
  'server/config/limits-file.ts': 'a file of the operator',
  'server/erasure/export-address.ts': 'a row of the database, in the order of an export',
  'server/http/rpc/grpc.ts': 'packs responses and unpacks nothing',
  'server/http/site/openapi.ts': 'a file of the release',
  'server/receipts/verify-receipt.ts': 'a receipt that its holder verifies, in a process of its own',
  'server/webhooks/post/excerpt.ts': 'the first 1,024 bytes of a response',
}

test('every file that parses has a row of readers.ts that measures it, or a reason why it needs none', () => {
  const files = globSync('{address-files,cli,client,dashboard,mail,net,server,workflows}/**/*.{ts,tsx,mjs}', {
    exclude: ['dashboard/dist/**', 'client/node_modules/**'],
  })
  const parsing = files.filter((file) => PARSERS.test(readFileSync(file, 'utf8'))).sort()
  expect(parsing).toEqual([...Object.keys(MEASURED), ...Object.keys(UNMEASURED)].sort())
})

test('every row that a file names exists', () => {
  const unknown = Object.values(MEASURED)
    .flat()
    .filter((row) => !(row in ROWS))
  expect(unknown).toEqual([])
})
