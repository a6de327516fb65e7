import {
  type Client,
  type ConnectionLike,
  isGrpcServiceError,
  ScheduleAlreadyRunning,
  type ScheduleClient,
  ScheduleOverlapPolicy,
} from '@temporalio/client'
import { CALL_MS } from './connection.ts'
import type { retention } from './retention.ts'
import { SEARCH_ATTRIBUTES } from './search-attributes.ts'
import { TASK_QUEUES } from './start.ts'

/** `temporal.api.enums.v1.IndexedValueType`, and how Temporal's command line calls it. */
const TYPES = { KEYWORD: { number: 2, word: 'Keyword' }, KEYWORD_LIST: { number: 7, word: 'KeywordList' } }

/**
 * Makes what the workflows need of a namespace: the search attributes and the Schedule of the retention, each if it is not there.
 * Throws when Temporal is away, or with the command that an operator has to run where attributes may not be added.
 */
export async function setUp({ connection, options, schedule }: Client): Promise<void> {
  await connection.withDeadline(Date.now() + CALL_MS, async () => {
    await scheduleRetention(schedule)
    await addSearchAttributes(connection, options.namespace)
  })
}

async function addSearchAttributes({ operatorService }: ConnectionLike, namespace: string): Promise<void> {
  try {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace })
    const missing = SEARCH_ATTRIBUTES.filter(({ name }) => !Object.hasOwn(customAttributes, name))
    if (missing.length === 0) return
    const searchAttributes = Object.fromEntries(missing.map(({ name, type }) => [name, TYPES[type].number]))
    await operatorService.addSearchAttributes({ namespace, searchAttributes })
  } catch (error) {
    if (!isGrpcServiceError(error) || IS_AWAY.includes(error.code)) throw error
    if (error.code === ALREADY_EXISTS) return
    throw new Error(`Search attributes cannot be added (${error.details}). Run once: ${commandFor(namespace)}`)
  }
}

/** UNAVAILABLE, DEADLINE_EXCEEDED and CANCELLED: that is no refusal. */
const IS_AWAY = [14, 4, 1]
/** Another worker added them at this very moment. */
const ALREADY_EXISTS = 6

function commandFor(namespace: string): string {
  const pairs = SEARCH_ATTRIBUTES.map(({ name, type }) => `--name ${name} --type ${TYPES[type].word}`)
  return `temporal operator search-attribute create --namespace ${namespace} ${pairs.join(' ')}`
}

async function scheduleRetention(schedule: ScheduleClient): Promise<void> {
  const creating = schedule.create<typeof retention>({
    scheduleId: 'retention',
    // At a time of the day when the sends are few: 02:30 UTC.
    spec: { calendars: [{ hour: 2, minute: 30 }] },
    action: {
      type: 'startWorkflow',
      workflowType: 'retention',
      workflowId: 'retention',
      taskQueue: TASK_QUEUES.original,
      staticSummary: 'Drops the days of history that are over',
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 day' },
  })
  await creating.catch((error) => {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error
  })
}
