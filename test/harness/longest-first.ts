import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take long in their project, the longest first. Without results of an earlier run, Vitest begins with
 * the largest files, and a long test in a small file would run alone at the end.
 */
const LONG = [
  'test/real/openapi.test.ts',
  'test/real/generated-clients.test.ts',
  'test/real/schedule.test.ts',
  'test/real/backup.test.ts',
  'test/faults/kills.test.ts',
  'test/faults/keys.test.ts',
  'test/faults/drain.test.ts',
  'test/faults/webhooks/workers.test.ts',
  'test/faults/database.test.ts',
  'test/faults/webhooks/api.test.ts',
  'test/faults/lost-responses.test.ts',
  'test/faults/batches.test.ts',
  'test/dev/start-ends.release.test.ts',
  'test/docs/readme.process.test.ts',
  'test/dev/start.release.test.ts',
  'test/webhooks/replays/range-replays.release.test.ts',
  'test/dev/postgres/server.release.test.ts',
  'test/e2e/drain.release.test.ts',
  'test/faults/quick/unrecorded.process.test.ts',
  'test/faults/quick/webhooks.process.test.ts',
  'test/faults/quick/kills.process.test.ts',
  'test/process/start.process.test.ts',
  'test/mail/smtp/own-time.waiting.test.ts',
  'test/mail/smtp/laws.thorough.test.ts',
  'test/ledger/locked-rows.waiting.test.ts',
  'test/smtp-front/hostile.waiting.test.ts',
  'test/domains/dns-verifier.waiting.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const group = ({ project }: TestSpecification) => project.config.sequence.groupOrder
    return (await super.sort(files)).sort((a, b) => group(a) - group(b) || placeOf(a) - placeOf(b))
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONG.findIndex((file) => moduleId.endsWith(file))
  return place < 0 ? LONG.length : place
}
