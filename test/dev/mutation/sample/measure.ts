import { join } from 'node:path'
import { measureRoom } from '../../../../dev/mutation/measure-room.ts'
import { printed } from '../../../../dev/mutation/report.ts'

/** Measures the sample room with the given tests, and prints the report as JSON. */
const report = await measureRoom(
  {
    code: ['test/dev/mutation/sample/delays.ts'],
    wordLists: ['test/dev/mutation/sample/delays.ts'],
    tests: [`test/dev/mutation/sample/${process.argv[2]}`],
    floor: { code: 50, phrases: 95 },
  },
  { root: join(import.meta.dirname, '../../../..'), minutes: 5, seed: 1, progress: console.error },
)
console.log(JSON.stringify({ ...report, text: printed(report) }))
// Vitest sets another exit code when a test is red, which mutants are for.
process.exit(0)
