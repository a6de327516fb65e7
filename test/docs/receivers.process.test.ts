import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { eventually } from '../harness/eventually.ts'
import { startProgram } from '../harness/process.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { snippets } from './snippets.ts'

test('an event that the handler cannot process comes again and delays no other', async () => {
  const path = temporaryFolder()
  const guide = await readFile('docs/receivers.md', 'utf8')
  const { text } = snippets(guide).find(({ mark }) => mark === 'file=inbox.mjs')!
  await writeFile(join(path, 'inbox.mjs'), text.replace('const DELAYS = [1,', 'const DELAYS = [0.2,'))
  const errors = vi.spyOn(console, 'error').mockReturnValue()
  onTestFinished(() => errors.mockRestore())
  const { openInbox } = await import(pathToFileURL(join(path, 'inbox.mjs')).href)
  const inbox = openInbox(join(path, 'inbox.db'))
  const tried: string[] = []
  const handled: string[] = []
  for (const event_id of ['first', 'second', 'third']) inbox.store({ event_id })
  inbox.work(({ event_id }: { event_id: string }) => {
    tried.push(event_id)
    // Until the others are handled, however slow the machine is.
    if (event_id === 'first' && handled.length < 2) throw new Error('not now')
    handled.push(event_id)
  })
  await eventually(() => expect(handled).toEqual(['second', 'third', 'first']))
  expect(tried.filter((id) => id === 'first').length).toBeGreaterThan(1)
})

test('the receiver without dependencies ends with a message when the secret is missing, whatever its path', async () => {
  const path = temporaryFolder('verdict receivers ')
  const receiver = await readFile('docs/webhook-receiver.mjs', 'utf8')
  await writeFile(join(path, 'receiver.mjs'), receiver)
  await symlink(join(path, 'receiver.mjs'), join(path, 'link.mjs'))
  for (const name of ['receiver.mjs', 'link.mjs']) {
    const program = startProgram(process.execPath, [join(path, name)], { WEBHOOK_SECRET: '' })
    expect(await program.ended).toBe(1)
    expect(program.stderr()).toContain('Set WEBHOOK_SECRET to the secret of the endpoint')
  }
})
