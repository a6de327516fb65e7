import { command, type Print } from './command.ts'
import { ask, shownBody, urlOption } from './service.ts'

export const statusCommand = (print: Print) =>
  command('status', 'verdict status', 'verdict status --url https://mail.example.com --json')
    .description('Show whether the service is ready, and the state of what it depends on')
    .addOption(urlOption())
    .action(async ({ url }) => {
      const health = await ask({ url, path: '/healthz' })
      const readiness = await ask({ url, path: '/readyz' })
      const json = shownBody({ ...health.body, ...readiness.body })
      const head = `${json.status}, version ${json.version}, region ${json.region}`
      const checks = Object.entries((json.checks ?? {}) as Record<string, unknown>)
      const lines = checks.map(([name, state]) => `  ${name}: ${state}`)
      print({ json, text: [head, ...lines].join('\n'), exit: readiness.status === 200 ? 'ok' : 'failed' })
    })
