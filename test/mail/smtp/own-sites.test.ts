import { expect, test } from 'vitest'
import { createShaping } from '../../../mail/smtp/shaping.ts'
import { deliveryTo, engineWith, exchangerWith, outcomeOf, send, siteOf, watchedEngineWith } from './deliver.ts'

const to = (address: string, site: ReturnType<typeof siteOf>) => ({ recipients: [{ address, site }] })

test('a recipient domain with a row of its own has its own connections, and others of its exchangers share theirs', async () => {
  const exchanger = await exchangerWith({})
  const site = siteOf(exchanger)
  const engine = engineWith({ shapeOf: createShaping([{ site: 'shop.test', connections: 1 }]) })
  for (const address of ['a@shop.test', 'b@shop.test']) await send(engine, site, to(address, site))
  expect(exchanger.sessions).toHaveLength(1)
  for (const address of ['c@one.test', 'd@two.test']) await send(engine, site, to(address, site))
  expect(exchanger.sessions).toHaveLength(2)
})

test('the load of an engine says how many connections work, wait and rest', async () => {
  const exchanger = await exchangerWith({ dot: { after: 300, act: '250 2.0.0 ok' } })
  const engine = watchedEngineWith({ shapeOf: createShaping([{ site: 'shop.test', connections: 1 }]) })
  const site = siteOf(exchanger)
  const sends = ['a@shop.test', 'b@shop.test', 'c@one.test'].map((address) =>
    engine.deliver(deliveryTo(site, to(address, site))),
  )
  await expect.poll(() => engine.load(), { interval: 5 }).toMatchObject({ inUse: 2, waiting: 1, idle: 0 })
  const attempts = (await Promise.all(sends)).flat()
  expect(attempts.map(outcomeOf)).toEqual(['delivered', 'delivered', 'delivered'])
  expect(engine.load()).toMatchObject({ inUse: 0, waiting: 0, idle: 2 })
})

test('a server that says more than its reply to the dot is not asked again over that connection', async () => {
  const exchanger = await exchangerWith({ dot: { raw: '250 2.0.0 ok\r\n250 2.0.0 and more\r\n' } })
  const engine = engineWith()
  const site = siteOf(exchanger)
  for (const address of ['a@one.test', 'b@one.test'])
    expect(outcomeOf(await send(engine, site, to(address, site)))).toBe('delivered')
  expect(exchanger.sessions).toHaveLength(2)
})
