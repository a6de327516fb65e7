import { CliError, command, type Output, type Print } from './command.ts'
import { MOST_AN_HOUR } from './mcp/approval.ts'
import { hasKey, urlOption } from './service.ts'

const GUIDE = '\nHow a host starts it, and what each tool does: docs/mcp.md, or /guides/mcp of the service'

export const mcpCommand = (print: Print) =>
  command('mcp', 'verdict mcp', 'verdict mcp --allow-live --url https://verdict.example.com')
    .summary('Serve tools to an agent over MCP')
    .description(
      'Serve tools to an agent over the Model Context Protocol, on standard input and output. Every send is a dry run, unless --allow-live is given.',
    )
    .option(
      '--allow-live',
      `Let the agent send email and replay events, at most ${MOST_AN_HOUR} times an hour; it must confirm each`,
    )
    .addOption(urlOption())
    .addHelpText('after', GUIDE)
    .action(({ allowLive = false, url }) => {
      if (!hasKey(url)) throw new CliError('configuration', 'VERDICT_API_KEY must be set to the key of the agent.')
      const sends = allowLive ? 'It can send email.' : 'Every send is a dry run.'
      print({
        json: {},
        text: `Serving MCP on standard input and output. ${sends}`,
        rest: served({ allowLive, url }),
      })
    })

/** Prints nothing: standard output belongs to the protocol. Ends when the client closes standard input. */
// biome-ignore lint/correctness/useYield: the command only waits.
async function* served(options: { allowLive: boolean; url: string | undefined }): AsyncGenerator<Output> {
  // Help and completion load every command: neither loads the SDK of MCP.
  const { serveMcp } = await import('./mcp/serve.ts')
  await serveMcp(options)
}
