import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../dev/ports.ts'
import { eventually } from '../../harness/eventually.ts'
import { goProgram } from '../go-program.ts'

export interface Bucket extends AsyncDisposable {
  /** The variables that lead to it. */
  env: Record<string, string>
  bucket: string
  /** Its files. */
  folder: string
  stop(): Promise<void>
}

/** Starts an S3 server, versitygw, with a bucket in a folder. */
export async function startBucket(): Promise<Bucket> {
  const program = await goProgram('versitygw', 'github.com/versity/versitygw/cmd/versitygw')
  const root = await mkdtemp(join(tmpdir(), 'verdict-test-bucket-'))
  const bucket = 'history'
  await mkdir(join(root, bucket))
  const port = await freePort()
  const [access, secret] = ['verdict', 'secret-of-the-test']
  const args = ['--port', `127.0.0.1:${port}`, '--access', access, '--secret', secret, '--region', 'eu-central-1']
  const server = spawn(program, [...args, 'posix', root], { stdio: 'ignore' })
  const closed = once(server, 'close')
  const url = `http://127.0.0.1:${port}`
  await eventually(() => fetch(url))
  async function stop(): Promise<void> {
    server.kill('SIGKILL')
    await closed
  }
  return {
    bucket,
    folder: join(root, bucket),
    env: {
      AWS_ENDPOINT_URL_S3: url,
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: access,
      AWS_SECRET_ACCESS_KEY: secret,
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
      await rm(root, { recursive: true })
    },
  }
}
