import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { beforeEach, expect, test } from 'vitest'
import { startPostgres } from '../../../dev/postgres/server.ts'
import { Problem } from '../../../dev/problem.ts'
import { endWithUs } from '../../harness/end-with-us.ts'
import { makeFilesSlow } from '../../harness/slow-files.ts'
import { temporaryFolder } from '../../harness/until-end.ts'
import { outlast } from '../../harness/waits.ts'

let dataDir: string

beforeEach(async () => {
  dataDir = temporaryFolder()
})

test('committed data is there after a stop and a new start', async () => {
  const first = await startPostgres({ dataDir })
  await query(first.url, 'create table t (a int)')
  await first.stop()
  const second = await startPostgres({ dataDir })
  expect(await query(second.url, 'select * from t')).toEqual([])
  await second.stop()
})

test('the server flushes writes to disk, allows 200 sessions and requires the password', async () => {
  const server = await startPostgres({ dataDir, temporary: true })
  const [row] = await query(server.url, `select current_setting('fsync') fsync, current_setting('max_connections') max`)
  expect(row).toEqual({ fsync: 'on', max: '200' })
  const wrong = new URL(server.url)
  wrong.password = 'wrong'
  await expect(query(wrong.href, 'select 1')).rejects.toThrow('password authentication failed')
  await server.stop()
})

test('a temporary server removes its files when it stops', async () => {
  const server = await startPostgres({ dataDir, temporary: true })
  await server.stop()
  expect(existsSync(dataDir)).toBe(false)
})

test('the server ends when the process that started it is killed, and the next start has the data', async () => {
  const child = await startInChild('')
  const pid = await serverPid()
  child.kill('SIGKILL')
  const next = await startPostgres({ dataDir })
  expect(isAlive(pid)).toBe(false)
  expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }])
  await next.stop()
})

test('the files of a temporary server are removed when the process that started it is killed', async () => {
  const child = await startInChild('temporary: true,')
  child.kill('SIGKILL')
  await expect.poll(() => existsSync(dataDir)).toBe(false)
})

test('a server that was killed with its keeper recovers at the next start', async () => {
  const server = await startPostgres({ dataDir })
  await query(server.url, 'create table t (a int)')
  process.kill(await serverPid(), 'SIGKILL')
  await server.gone
  const next = await startPostgres({ dataDir })
  expect(await query(next.url, 'select * from t')).toEqual([])
  await next.stop()
})

test('a process with the id of a dead server is not mistaken for that server', async () => {
  const server = await startPostgres({ dataDir })
  process.kill(await serverPid(), 'SIGKILL')
  await server.gone
  await writePid('1')
  const next = await startPostgres({ dataDir })
  await next.stop()
})

test.each(['its own', "another process's"])(
  'a start waits for the children of a killed server when its pid file has %s id',
  async (owner) => {
    const server = await startPostgres({ dataDir })
    const [child] = await query(server.url, `select pid from pg_stat_activity where backend_type = 'checkpointer'`)
    process.kill(child!.pid, 'SIGSTOP')
    process.kill(await serverPid(), 'SIGKILL')
    await server.gone
    if (owner !== 'its own') await writePid('1')
    const starting = startPostgres({ dataDir })
    // Longer than a start waits for a server that responds.
    await outlast(2_500)
    process.kill(child!.pid, 'SIGCONT')
    const next = await starting
    expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await next.stop()
  },
)

test('a server that ends at once is noticed although files are slow, and the message has the end of its log', async () => {
  await (await startPostgres({ dataDir })).stop()
  await appendFile(join(dataDir, 'postgres', 'postgresql.auto.conf'), 'nonsense\n')
  using _files = makeFilesSlow()
  await expect(startPostgres({ dataDir })).rejects.toThrow(/^PostgreSQL did not start\. .*postgresql\.auto\.conf/s)
})

test('`gone` resolves when the server dies', async () => {
  const server = await startPostgres({ dataDir, temporary: true })
  process.kill(await serverPid(), 'SIGQUIT')
  await server.gone
})

test('a second server on the same folder is refused, and the message names the process and the port of the first', async () => {
  const server = await startPostgres({ dataDir })
  const { port } = new URL(server.url)
  const refusal = startPostgres({ dataDir })
  await expect(refusal).rejects.toThrow(`process ${await serverPid()}, on port ${port}`)
  await expect(refusal).rejects.toBeInstanceOf(Problem)
  await server.stop()
})

test('a cluster of another major version is refused, and the message says what to do', async () => {
  await (await startPostgres({ dataDir })).stop()
  await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '17\n')
  const refusal = startPostgres({ dataDir })
  await expect(refusal).rejects.toThrow(/created by PostgreSQL 17.*includes PostgreSQL 18.*\n.*DATA_DIR/)
  await expect(refusal).rejects.toBeInstanceOf(Problem)
})

test('two servers on different folders start at the same time', async () => {
  const other = temporaryFolder()
  const servers = await Promise.all([dataDir, other].map((dataDir) => startPostgres({ dataDir, temporary: true })))
  for (const { url } of servers) expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
  await Promise.all(servers.map((server) => server.stop()))
})

async function startInChild(more: string): Promise<ChildProcess> {
  const code = `
    import { startPostgres } from ${JSON.stringify(join(import.meta.dirname, '../../../dev/postgres/server.ts'))}
    await startPostgres({ ${more} dataDir: ${JSON.stringify(dataDir)} })
    console.log('started')`
  const child = endWithUs(
    spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: ['ignore', 'pipe', 'ignore'] }),
  )
  await once(child.stdout!, 'data')
  return child
}

async function query(url: string, text: string) {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return [...(await sql.unsafe(text))]
  } finally {
    await sql.end()
  }
}

/** Writes the id of another process into the pid file that a killed server left. */
async function writePid(pid: string): Promise<void> {
  const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
  const lines = (await readFile(pidFile, 'utf8')).split('\n')
  await writeFile(pidFile, [pid, ...lines.slice(1)].join('\n'))
}

async function serverPid(): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
