import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

// Our own faults

test('a lack of sockets is our fault, also once the caller was asked for permission', () => {
  const script = new URL('without-sockets.ts', import.meta.url).pathname
  const output = execFileSync('sh', ['-c', 'ulimit -n 200; exec "$0" "$1"', process.execPath, script], {
    encoding: 'utf8',
  })
  expect(JSON.parse(output)).toEqual({
    unasked: { kind: 'our_fault', cause: expect.stringContaining('EMFILE') },
    asked: [{ kind: 'our_fault', cause: expect.stringContaining('EMFILE') }, expect.stringContaining('EMFILE')],
    dns: 'failure',
  })
})
