import {
  type Client,
  type ConnectionLike,
  isGrpcServiceError,
  ScheduleAlreadyRunning,
  type ScheduleClient,
  ScheduleNotFoundError,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from '@temporalio/client'
import { TASK_QUEUES } from './client.ts'
import { CALL_MS } from './connection.ts'
import { SEARCH_ATTRIBUTES } from './search-attributes.ts'

/** The number of each type in `temporal.api.enums.v1.IndexedValueType`, and its name for Temporal's command line. */
const TYPES = {
  KEYWORD: { number: 2, name: 'Keyword' },
  INT: { number: 3, name: 'Int' },
  KEYWORD_LIST: { number: 7, name: 'KeywordList' },
}

/**
 * Returns what creates the search attributes and the Schedules of a namespace, as far as they are missing. It throws
 * when Temporal is away. Where attributes may not be added, the error names the command that an operator has to run.
 */
export function createSetUp({ connection, options, schedule }: Client): () => Promise<void> {
  // Only release 0.2 creates it, and 0.2 and 0.3 do not run at the same time: once removed, it does not come back.
  let isFormerGone = false
  return () =>
    connection.withDeadline(Date.now() + CALL_MS, async () => {
      for (const each of SCHEDULES) await createSchedule(schedule, each)
      if (!isFormerGone) await removeSchedule(schedule, FORMER_SCHEDULE)
      isFormerGone = true
      await addSearchAttributes(connection, options.namespace)
    })
}

/** The search attributes that a namespace lacks. */
export async function missingAttributes({ operatorService }: ConnectionLike, namespace: string) {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace })
  return SEARCH_ATTRIBUTES.filter(({ name }) => !Object.hasOwn(customAttributes, name))
}

async function addSearchAttributes(connection: ConnectionLike, namespace: string): Promise<void> {
  const { operatorService } = connection
  try {
    const missing = await missingAttributes(connection, namespace)
    if (missing.length === 0) return
    const searchAttributes = Object.fromEntries(missing.map(({ name, type }) => [name, TYPES[type].number]))
    await operatorService.addSearchAttributes({ namespace, searchAttributes })
  } catch (error) {
    if (!isGrpcServiceError(error) || IS_AWAY.includes(error.code)) throw error
    if (error.code === ALREADY_EXISTS) return
    const command = attributesCommand(namespace)
    throw new Error(`Search attributes cannot be added (${error.details}). Run once: ${command}`)
  }
}

/** UNAVAILABLE, DEADLINE_EXCEEDED and CANCELLED. None of them is a refusal. */
const IS_AWAY = [14, 4, 1]
/** Another worker added the attributes at the same moment. */
const ALREADY_EXISTS = 6

/** The command that adds search attributes to a namespace, all by default. */
export function attributesCommand(namespace: string, attributes: readonly Attribute[] = SEARCH_ATTRIBUTES): string {
  const pairs = attributes.map(({ name, type }) => `--name ${name} --type ${TYPES[type].name}`)
  return `temporal operator search-attribute create --namespace ${namespace} ${pairs.join(' ')}`
}

type Attribute = (typeof SEARCH_ATTRIBUTES)[number]

interface ScheduledWorkflow extends Pick<ScheduleOptions, 'spec'> {
  /** The name of the Schedule, of the workflow's type, and of its id. */
  name: string
  summary: string
}

const SCHEDULES: readonly ScheduledWorkflow[] = [
  {
    name: 'retention',
    summary: 'Drops the days of history that are over',
    // 02:30 UTC, a time of day with few sends.
    spec: { calendars: [{ hour: 2, minute: 30 }] },
  },
]

export const SCHEDULE_NAMES = SCHEDULES.map(({ name }) => name)

/** Release 0.2 started a check of domains every minute. */
const FORMER_SCHEDULE = 'verification'

async function removeSchedule(schedule: ScheduleClient, name: string): Promise<void> {
  await schedule
    .getHandle(name)
    .delete()
    .catch((error) => {
      if (!(error instanceof ScheduleNotFoundError)) throw error
    })
}

async function createSchedule(schedule: ScheduleClient, { name, summary, spec }: ScheduledWorkflow) {
  const creating = schedule.create({
    scheduleId: name,
    spec,
    action: {
      type: 'startWorkflow',
      workflowType: name,
      workflowId: name,
      taskQueue: TASK_QUEUES.original,
      staticSummary: summary,
    },
    // A run may begin up to a day late.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 day' },
  })
  await creating.catch((error) => {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error
  })
}
