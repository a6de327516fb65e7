import { runSuites } from './run-suites.ts'

// `node .ci/suites.ts NAME=COMMAND...` runs the suites. The last line is `N passed, N failed`.

const suites = process.argv.slice(2).map((argument) => {
  const [name = '', ...command] = argument.split('=')
  return { name, command: command.join('=') }
})
const flaky: string[] = []
const { passed, failed, flakyFiles } = await runSuites(suites, (line) => {
  if (line.startsWith('FLAKY ')) flaky.push(line)
  console.log(line)
})
if (flakyFiles > 0) console.log(['', `Files that failed and then passed alone: ${flakyFiles}`, ...flaky].join('\n'))
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
