import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openerFor } from '../../cli/open.ts'
import { runCli } from '../../cli/run.ts'

const MESSAGE = 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5'

beforeEach(() => void vi.stubEnv('VERDICT_URL', 'https://mail.example.com/'))
afterEach(() => void vi.unstubAllEnvs())

test('open prints the address of the dashboard, or of a message in it', async () => {
  expect(await runCli(['open', '--print'])).toMatchObject({ text: 'https://mail.example.com/dashboard' })
  const url = `https://mail.example.com/dashboard/messages/${MESSAGE}`
  expect(await runCli(['open', MESSAGE, '--print'])).toMatchObject({ text: url, json: { url, opened: false } })
  expect(await runCli(['open', MESSAGE, '--url', 'http://127.0.0.1:8080', '--print'])).toMatchObject({
    text: `http://127.0.0.1:8080/dashboard/messages/${MESSAGE}`,
  })
})

test('open refuses what is no identifier of a message', async () => {
  for (const text of ['evt_01jx3c7w5fe9c8m0t1q2r3s4v5', 'msg_1', '../sign-in'])
    await expect(runCli(['open', text])).rejects.toMatchObject({ exit: 'usage' })
})

test('a browser is started where there is a desktop', () => {
  expect(openerFor('darwin', {})).toEqual(['open'])
  expect(openerFor('linux', { WAYLAND_DISPLAY: 'wayland-0' })).toEqual(['xdg-open'])
  expect(openerFor('linux', {})).toBeUndefined()
  expect(openerFor('win32', {})?.[0]).toBe('rundll32')
})
