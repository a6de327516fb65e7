import { expect, test } from 'vitest'
import { streamOf } from '../../client/stream.ts'
import { Verdict, VerdictError } from '../../client/verdict.ts'
import { startApi } from '../services/api.ts'

const api = await startApi()
const verdict = new Verdict({ url: api.url, apiKey: api.keys.live })

test('events are streamed as they are committed, and a later stream resumes after the position of one', async () => {
  const sent: string[] = []
  const send = async () => sent.push((await api.send({ tag: 'streamed' })).json.message_id)
  await send()
  await send()
  const ended = new AbortController()
  const found: string[] = []
  let position: string | undefined
  for await (const event of verdict.events.stream({ after: 'begin', tag: 'streamed' }, { signal: ended.signal })) {
    found.push(event.message_id)
    position = event.position
    if (found.length === 2) void send()
    if (found.length === 3) break
  }
  await send()
  for await (const event of verdict.events.stream({ after: position, tag: 'streamed' })) {
    found.push(event.message_id)
    break
  }
  expect(found).toEqual(sent)
})

test('a stream reads on after failures that pass, from the position that it had', async () => {
  const asked: unknown[] = []
  const pauses: number[] = []
  const answers: (() => unknown)[] = [
    () => ({ events: [], position: 'p0', has_more: false }),
    () => {
      throw new VerdictError('away', { code: 'connection_failed' })
    },
    () => {
      throw new VerdictError('away', { code: 'transient_failure', status: 500 })
    },
    () => ({ events: [{ event: { event_id: 'evt_1' }, position: 'p1' }], position: 'p1', has_more: false }),
    () => {
      throw new VerdictError('gone', { code: 'event_expired', status: 410 })
    },
  ]
  const call = async (_: string, { query }: { query: object }) => {
    asked.push(query)
    return answers.shift()!()
  }
  const pause = async (ms: number) => void pauses.push(ms)
  const positions: string[] = []
  const events = streamOf(call as never, {}, { onPosition: (position) => positions.push(position) }, pause)
  expect((await events.next()).value).toEqual({ event_id: 'evt_1', position: 'p1' })
  await expect(events.next()).rejects.toMatchObject({ code: 'event_expired' })
  const waits = { limit: 100, wait_s: 20 }
  expect(asked).toEqual([
    { limit: 100, after: undefined, wait_s: undefined },
    { ...waits, after: 'p0' },
    { ...waits, after: 'p0' },
    { ...waits, after: 'p0' },
    { ...waits, after: 'p1' },
  ])
  expect(pauses).toHaveLength(2)
  expect(positions).toEqual(['p0', 'p1', 'p1'])
})

test('the signal ends a stream that waits', async () => {
  const ended = new AbortController()
  const reason = new Error('enough')
  const onPosition = () => ended.abort(reason)
  const events = verdict.events.stream({ tag: 'none' }, { signal: ended.signal, onPosition })
  await expect(events.next()).rejects.toBe(reason)
})
