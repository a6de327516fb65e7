import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { Primary, type ServerState } from '../../server/db/primary.ts'
import { listenUntilEnd } from '../harness/until-end.ts'
import { quietFor } from '../harness/waits.ts'

const servers = Array.from({ length: 2 }, () => createServer((socket) => socket.resume()))
const ports = await Promise.all(servers.map(listenUntilEnd))
const hosts = ports.map((port) => ({ host: '127.0.0.1', port }))

/** The servers answer one question after another with these; `silent` never answers. */
function primaryAmong(answers: (ServerState['kind'] | 'silent')[][]) {
  const asked = answers.map(() => 0)
  const probe = async ({ port }: { port: number }): Promise<ServerState> => {
    const i = hosts.findIndex((host) => host.port === port)
    const of = answers[i]!
    const kind = of[Math.min(asked[i]!++, of.length - 1)]!
    if (kind === 'silent') await new Promise(() => {})
    return { kind: kind as ServerState['kind'], timeline: 1, address: `127.0.0.1 ${port}` }
  }
  return { primary: new Primary({ hosts, probe, statementMs: 0 }), asked }
}

const open = (primary: Primary) => primary.open({ host: [hosts[0]!.host], port: [hosts[0]!.port], path: false })

test('a standby that is promoted while another server is silent is found without waiting for the silent one', async () => {
  const { primary } = primaryAmong([['silent'], ['standby', 'standby', 'writable']])
  const socket = await open(primary)
  expect(socket).toMatchObject({ host: hosts[1]!.host, port: hosts[1]!.port })
  socket.destroy()
})

test('when every server has answered at the start and none takes writes, none is asked again, and the socket fails', async () => {
  const { primary, asked } = primaryAmong([['standby'], ['standby']])
  const socket = await open(primary)
  const error = await new Promise<NodeJS.ErrnoException>((resolve) => socket.once('error', resolve))
  expect(error).toMatchObject({ code: '25006', message: expect.stringContaining('no server takes writes') })
  expect(asked).toEqual([1, 1])
})

test('a socket that is being opened while a search finds the same server again stays open', async () => {
  const { primary } = primaryAmong([['writable'], ['standby']])
  const [first, ...others] = [await open(primary), await open(primary), await open(primary)]
  await once(first, 'connect')
  others.push(await open(primary))
  primary.suspect()
  await Promise.all(others.map((socket) => once(socket, 'connect')))
  await quietFor(50)
  expect([first, ...others].map(({ destroyed }) => destroyed)).toEqual([false, false, false, false])
  for (const socket of [first, ...others]) socket.destroy()
})
