import { command } from './command.ts'
import { ask, urlOption } from './service.ts'

export const status = command({
  summary: 'Tell whether the service is ready, and what it checks.',
  options: { url: urlOption },
  examples: ['verdict status', 'verdict status --url https://mail.example.com --json'],
  async run({ url }) {
    const health = await ask({ url, path: '/healthz' })
    const readiness = await ask({ url, path: '/readyz' })
    const ready = readiness.status === 200
    const checks = Object.entries((readiness.body.checks ?? {}) as Record<string, unknown>)
    const lines = checks.map(([name, state]) => `  ${name}: ${state}`)
    const text = [
      `${readiness.body.status}, version ${health.body.version}, region ${health.body.region}`,
      ...lines,
    ].join('\n')
    return { json: { ...health.body, ...readiness.body }, text, exit: ready ? 'ok' : 'failed' }
  },
})
