import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { runCli } from '../../cli/run.ts'

// The script for bash in a real bash. zsh and fish are in test/real/completion.test.ts.

const { text: script } = await runCli(['completion', 'bash'])

/** What bash offers for the last word of a command line. */
function offered(line: string): string[] {
  const words = line.split(' ')
  const complete = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _verdict; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', `${script}\n${complete}`, 'bash', ...words], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

test.each([
  ['verdict em', ['email', 'emails']],
  ['verdict email ', ['get', '--help', '--json', '--version']],
  ['verdict keys re', ['revoke']],
  ['verdict --json emails --sta', ['--status']],
  ['verdict emails --status ', ['delivered', 'bounced', 'rejected']],
  ['verdict emails --status bo', ['bounced']],
  ['verdict import list.csv --reason ', ['bounce', 'complaint', 'import', 'manual']],
  ['verdict webhook set https://a.example --events ', ['email.delivery', 'email.feedback']],
  ['verdict webhook set https://a.example --statuses b', ['bounced']],
  ['verdict events --reason mailbox', ['mailbox_full', 'mailbox_does_not_exist']],
  ['verdict events --status r', ['rejected']],
  ['verdict emails --tag ', []],
  ['verdict emails --tag orders --li', ['--live', '--limit']],
  ['verdict stats --granularity ', ['minute', 'hour', 'day', 'total']],
  ['verdict completion ', ['bash', 'zsh', 'fish', '--help', '--json', '--version']],
  ['verdict import ./sub', []],
  ['npx verdict em', ['email', 'emails']],
  ['npx verdict emails --status ', ['delivered', 'bounced', 'rejected']],
  ['npx em', []],
  ['npx verdict', []],
  ['npx other em', []],
])('bash completes %j', (line, words) => {
  expect(offered(line).sort()).toEqual(words.sort())
})

test('every command of the help is completed, and no other', async () => {
  const { text: help } = await runCli(['--help'])
  const commands = [...help.matchAll(/^ {2}([a-z][a-z-]*)(?: \[options\])?(?: (?:<\w+>|\[\w+\]))? {2,}[A-Z]/gm)]
  const names = commands.map(([, name]) => name!)
  expect(offered('verdict ').filter((word) => !word.startsWith('-'))).toEqual(names)
})
