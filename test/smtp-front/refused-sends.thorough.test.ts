import { expect, test } from 'vitest'
import { eventually } from '../harness/eventually.ts'
import { connectClient, stuffed } from './client.ts'
import { letter, startFrontWorld } from './world.ts'

const { api, listenWith, send } = await startFrontWorld()
const lmtp = await listenWith({ isLmtp: true })

const NOT_READABLE = letter().replace('From: Shop <hello@example.test>', 'From: ann')

async function listed(): Promise<object[]> {
  return (await api.call('GET', '/api/v1/refused-sends')).json.refused_sends
}

test('a message over SMTP or LMTP that became no email is among the refused sends; a dry run is not', async () => {
  expect(await send({ to: ['ann@example.net', 'bob@example.net'], content: NOT_READABLE })).toMatch(/^55/)
  const dryRun = `X-Service-Sandbox: true\r\n${letter()}`
  expect(await send({ to: 'ann@example.net', from: 'hello@elsewhere.test', content: dryRun })).toMatch(/^5/)
  await send({ to: 'ann@example.net', content: NOT_READABLE, key: api.keys.test })
  const client = await connectClient(lmtp.port)
  await client.logInToLmtp(api.keys.live)
  await client.ask('MAIL FROM:<hello@elsewhere.test>')
  await client.ask('RCPT TO:<ann@example.net>')
  await client.ask('DATA')
  client.write(stuffed(letter()))
  await client.reply()
  client.end()
  await eventually(async () =>
    expect(await listed()).toMatchObject([
      {
        protocol: 'lmtp',
        status: 403,
        error: 'domain_not_verified',
        from: 'hello@elsewhere.test',
        recipients: ['ann@example.net'],
      },
      {
        protocol: 'smtp',
        status: 400,
        from: 'hello@example.test',
        recipients: ['ann@example.net', 'bob@example.net'],
        fields: ['raw'],
      },
    ]),
  )
})
