import { randomInt } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { parseArgs } from 'node:util'
import { measureRoom } from './measure-room.ts'
import { printed } from './report.ts'
import { ROOMS } from './rooms.ts'

// `npm run mutation -- <room>`: how many small changes of the room's code do its tests notice? Exits with 1 when it is
// less than the floor of the room.

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' } },
})
const [name = '', ...files] = positionals
const room = ROOMS[name]
const isOfRoom = (file: string) => room?.code.some((glob) => matchesGlob(file, glob))
const minutes = Number(values.minutes)
const seed = Number(values.seed ?? randomInt(1_000_000))
if (!room || !files.every(isOfRoom) || !(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error(
    `usage: npm run mutation -- <room> [<file of the room>...] [--minutes n] [--seed s]
<room> is one of: ${Object.keys(ROOMS).join(', ')}`,
  )
  process.exit(2)
}

const root = join(import.meta.dirname, '../..')
console.log(`${name}: ${minutes} minutes once every test ran, --seed ${seed}`)
const measured = files.length > 0 ? { ...room, code: files } : room
const report = await measureRoom(measured, { root, minutes, seed, progress: console.log })
console.log(`\n${printed(report)}`)

const file = join(root, 'node_modules/.cache/mutation', `${name.replaceAll('/', '-')}.json`)
mkdirSync(join(file, '..'), { recursive: true })
writeFileSync(file, JSON.stringify({ room: name, seed, minutes, ...report }, undefined, 2))
console.log(`\n${file}`)
process.exit(report.isBelowFloor ? 1 : 0)
