import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { parsePublicId } from '../server/db/ids.ts'
import { CliError, command, type Print } from './command.ts'
import { dashboardLink, urlOption } from './service.ts'

export const openCommand = (print: Print) =>
  command('open', 'verdict open', 'verdict open msg_01jx3c7w5fe9c8m0t1q2r3s4v5')
    .summary('Open the dashboard at a message')
    .description(
      'Open the dashboard in a browser, at a message when one is given. Without a desktop, or when its output is not a ' +
        'terminal, the command prints the address.',
    )
    .argument('[message_id]')
    .option('--print', 'Print the address, and open nothing')
    .addOption(urlOption())
    .action(async (messageId, { print: isPrinted, url }) => {
      if (messageId !== undefined && !parsePublicId('msg', messageId))
        throw new CliError('usage', `${messageId} must be the identifier of a message: msg_ and 26 characters.`)
      const link = dashboardLink(url, messageId)
      const opener = isPrinted || !process.stdout.isTTY ? undefined : openerFor(process.platform, process.env)
      const isOpened = opener !== undefined && (await startOpener(opener, link))
      print({ json: { url: link, opened: isOpened }, text: link })
    })

type Opener = [command: string, ...args: string[]]

/** What opens an address in the browser of a desktop. Undefined where there is none. */
export function openerFor(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): Opener | undefined {
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined
}

/** Whether the program could be started. It goes on after this command. */
async function startOpener([command, ...args]: Opener, link: string): Promise<boolean> {
  const child = spawn(command, [...args, link], { stdio: 'ignore', detached: true })
  child.unref()
  return Promise.race([once(child, 'spawn').then(() => true), once(child, 'error').then(() => false)])
}
