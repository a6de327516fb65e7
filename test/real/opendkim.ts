import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openFolder } from './daemon.ts'

/**
 * Verifies the signature of a message from a mailbox with opendkim. Returns `verification (s=..., d=..., 2048-bit key)
 * succeeded`, or why it failed. The keys come from the DNS server at `port`, which must be authoritative for `domain`.
 */
export async function verifyWithOpendkim(
  message: Buffer,
  { domain, port }: { domain: string; port: number },
): Promise<string> {
  const folder = await openFolder('opendkim')
  const file = (name: string) => join(folder, name)
  // Debian's opendkim resolves names with libunbound.
  const resolver = `server:\n  do-not-query-localhost: no\nstub-zone:\n  name: "${domain}"\n  stub-addr: 127.0.0.1@${port}\n`
  await writeFile(file('unbound.conf'), resolver)
  await writeFile(file('opendkim.conf'), `Mode v\nResolverConfiguration ${file('unbound.conf')}\n`)
  await writeFile(file('message'), message)
  const options = ['-x', file('opendkim.conf'), '-t', file('message')]
  const { stdout, stderr, error } = spawnSync('opendkim', options, { encoding: 'utf8', timeout: 20_000 })
  if (error) throw error
  return `${stdout}${stderr}`.replaceAll(`opendkim: ${file('message')}: `, '').trim()
}
