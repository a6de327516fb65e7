import { tmpdir } from 'node:os'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startDuckDb } from '../../server/archive/duckdb.ts'
import { publicId } from '../../server/db/ids.ts'

test('an id in the archive is the public id of the API', async () => {
  using duckdb = await startDuckDb(tmpdir())
  const uuid = fc.oneof(fc.uuid(), fc.constantFrom('0', '7', '8', 'f').map(uuidOf))
  await fc.assert(
    fc.asyncProperty(fc.array(uuid, { minLength: 100, maxLength: 100 }), async (uuids) => {
      const ids = await duckdb.connection.runAndReadAll(
        `select public_id('msg', uuid) from unnest(['${uuids.join("', '")}']) as uuids (uuid)`,
      )
      expect(ids.getRowsJS()).toEqual(uuids.map((uuid) => [publicId('msg', uuid)]))
    }),
  )
})

const uuidOf = (digit: string) => digit.repeat(32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
