import { join } from 'node:path'
import { Connection } from '@temporalio/client'
import { expect, test } from 'vitest'
import { startTemporal, type TestTemporal } from './temporal.ts'
import { temporaryFolder } from './until-end.ts'

const folder = temporaryFolder()

test('a Temporal that starts again with its file and port keeps its history, and without the file it starts empty', async () => {
  const dbFile = join(folder, 'temporal.db')
  const first = await startTemporal({ dbFile })
  const id = await namespaceIdOf(first)
  await first.stop()
  const second = await startTemporal({ dbFile, port: first.port })
  expect(second.address).toBe(first.address)
  expect(await namespaceIdOf(second)).toBe(id)
  await second.stop()
  const third = await startTemporal({ port: first.port })
  expect(await namespaceIdOf(third)).not.toBe(id)
  await third.stop()
})

test('a paused Temporal does not respond until it is resumed', async () => {
  const temporal = await startTemporal()
  await temporal.pause()
  await expect(namespaceIdOf(temporal, 500)).rejects.toThrow()
  temporal.resume()
  expect(await namespaceIdOf(temporal)).toMatch(/^[0-9a-f-]{36}$/)
  await temporal.pause()
  await temporal.stop()
  await expect(namespaceIdOf(temporal, 500)).rejects.toThrow()
})

test('a started Temporal has the search attributes of webhook workflows', async () => {
  const temporal = await startTemporal()
  const connection = await Connection.connect({ address: temporal.address })
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'default' })
  const names = ['DeliveryStatus', 'EventIds', 'MessageIds', 'WebhookEndpoint']
  expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(names))
  await connection.close()
  await temporal.stop()
})

async function namespaceIdOf({ address }: TestTemporal, withinMs = 10_000): Promise<string> {
  const connection = await Connection.connect({ address, connectTimeout: withinMs })
  try {
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace: 'default' })
    return namespaceInfo?.id ?? ''
  } finally {
    await connection.close()
  }
}
