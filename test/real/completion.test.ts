import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { runCli } from '../../cli/run.ts'

// The completion scripts in Debian's zsh and fish. bash is in test/cli/completion.process.test.ts.

/** Runs a script with arguments and returns the lines that it prints. */
function linesOf(shell: string, script: string, args: string[]): string[] {
  const { stdout, stderr, status } = spawnSync(shell, ['-c', script, ...args], { encoding: 'utf8' })
  expect([stderr, status]).toEqual(['', 0])
  return stdout.split('\n').filter((line) => line !== '')
}

/** What zsh's `_describe` is given for the last word. */
async function offeredByZsh(line: string): Promise<string[]> {
  const { text } = await runCli(['completion', 'zsh'])
  const stubs = `compdef() { }; _files() { }; _describe() { print -rl -- "\${found[@]}" }`
  return linesOf('zsh', `${stubs}\n${text}\nwords=("$@"); CURRENT=$#; _verdict`, ['zsh', ...line.split(' ')])
}

async function offeredByFish(line: string): Promise<string[]> {
  const { text } = await runCli(['completion', 'fish'])
  return linesOf('fish', `${text}\ncomplete -C ${JSON.stringify(line)}`, [])
}

const ATTACH = 'A file to attach, such as invoice.pdf or "data.bin;type=application/pdf"'

test('zsh completes commands with their descriptions, options, and values', async () => {
  expect(await offeredByZsh('verdict ')).toContain('emails:List sent emails')
  const get = await offeredByZsh('verdict --json email ')
  expect(get[0]).toMatch(/^get:Show an email/)
  expect(await offeredByZsh('verdict send --to a@b.example ')).toContain(`--attach:${ATTACH}`)
  expect(await offeredByZsh('verdict emails --status ')).toEqual(['delivered', 'bounced', 'rejected'])
  expect(await offeredByZsh('verdict emails --tag ')).toEqual([])
  expect(await offeredByZsh('npx verdict emails --status ')).toEqual(['delivered', 'bounced', 'rejected'])
  expect(await offeredByZsh('npx other ')).toEqual([])
})

test('fish completes commands with their descriptions, options, and values', async () => {
  expect(await offeredByFish('verdict em')).toEqual(['email\tShow a sent email: get', 'emails\tList sent emails'])
  expect(await offeredByFish('verdict --json email g')).toEqual([expect.stringMatching(/^get\tShow an email/)])
  expect(await offeredByFish('verdict send --at')).toEqual([`--attach\t${ATTACH}`])
  expect(await offeredByFish('verdict emails --status bo')).toEqual([expect.stringMatching(/^bounced\t/)])
  expect(await offeredByFish('npx verdict em')).toEqual(await offeredByFish('verdict em'))
  expect(await offeredByFish('npx verdict emails --status bo')).toEqual([expect.stringMatching(/^bounced\t/)])
  expect(await offeredByFish('npx other comple')).toEqual([])
  expect(await offeredByFish('verdict keys li')).toEqual([expect.stringMatching(/^list\t/)])
})
