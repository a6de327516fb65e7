import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { RECEIVER_AUTHORITY } from '../../harness/certificates.ts'
import { temporaryFolder } from '../../harness/until-end.ts'
import { newReceiver, undo } from './posting.ts'

afterEach(undo)

test('authorities of NODE_EXTRA_CA_CERTS are trusted', async () => {
  const receiver = await newReceiver({ tls: true })
  const dir = temporaryFolder()
  await writeFile(join(dir, 'ca.pem'), RECEIVER_AUTHORITY)
  const program = `
    import { createPost } from ${JSON.stringify(new URL('../../../server/webhooks/post/post.ts', import.meta.url).href)}
    const { post, close } = createPost({ allowSubnets: ['127.0.0.0/8'], lookup: async () => [] })
    console.log((await post(${JSON.stringify(receiver.url)}, {}, Buffer.from('{}'), { accountId: 'account' })).outcome)
    await close()`
  const run = async (env: NodeJS.ProcessEnv) => {
    const child = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env })
    return (await child).stdout.trim()
  }
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env
  expect(await Promise.all([run(env), run({ ...env, NODE_EXTRA_CA_CERTS: join(dir, 'ca.pem') })])).toEqual([
    'tls',
    'acked',
  ])
})
