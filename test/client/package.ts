import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export const run = promisify(execFile)
const CLIENT = join(import.meta.dirname, '../../client')

/** A new project with the packed client and these packages installed. The caller removes its folder. */
export async function installClient(packages: string[] = []): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'verdict-client-'))
  try {
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: CLIENT })
    const tarball = join(folder, JSON.parse(stdout.slice(stdout.indexOf('[')))[0].filename)
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
    await run('npm', ['install', '--no-audit', '--no-fund', tarball, ...packages], { cwd: folder })
    return folder
  } catch (error) {
    await rm(folder, { recursive: true })
    throw error
  }
}

const README = await readFile(join(CLIENT, 'README.md'), 'utf8')
const blocks = (language: string) =>
  [...README.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, text]) => text!).join('')

/** Signs requests as the service does, and prints the statuses that the guide's receiver responds with. */
const REQUESTS = `
import { createHmac } from 'node:crypto'

process.env.WEBHOOK_SECRET = 'whsec_test'
const body = JSON.stringify({ event: 'email.delivery', status: 'bounced', recipient: 'ann@example.com', reason: 'mailbox_full' })
for (const secret of ['whsec_test', 'whsec_other']) {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', secret).update(\`\${timestamp}.\${body}\`).digest('hex')
  const headers = { 'Service-Timestamp': timestamp, 'Service-Signature': signature }
  const response = await receive(new Request('http://localhost/', { method: 'POST', body, headers }))
  console.log(response.status)
}
`

/** The commands of the client's guide as one program, and what it prints. */
export const PROGRAM = blocks('ts run') + REQUESTS
export const PRINTED = `${blocks('text')}ann@example.com mailbox_full\n200\n401\n`
