import { publicId } from '../../db/ids.ts'

/** The dispatches of one workflow, to one endpoint. Ids are UUIDs. */
interface GroupIds {
  kind: 'original' | 'replay'
  endpointId: string
  /** In order. The ids of dispatches and events come in pairs. */
  dispatchIds: readonly string[]
  eventIds: readonly string[]
}

const PREFIXES = { original: 'webhook', replay: 'replay' }
/** Enough of an id's random part that no two groups share a workflow. */
const END = 10

/**
 * The id of the workflow that takes a group of dispatches, by which an operator finds it: it names the event, or the
 * endpoint and the first event of several. The end of the first dispatch's id tells the dispatches of one event apart.
 * One group always has the same id: of two processes that hand it over, one starts the workflow.
 */
export function workflowIdOf({ kind, endpointId, dispatchIds, eventIds }: GroupIds): string {
  const group = dispatchIds.length === 1 ? [] : [publicId('whk', endpointId)]
  const end = publicId('dsp', dispatchIds[0]!).slice(-END)
  return [PREFIXES[kind], ...group, publicId('evt', eventIds[0]!), end].join('-')
}

/**
 * SQL: the id of the workflow that replaces a lost one: it ends in `-r1`, and then counts. Temporal does not know it,
 * and all processes that look at the same moment choose the same one.
 */
export const REVIVED_ID = `
  regexp_replace(workflow_id, '(-[0-9a-z]{${END}})-r\\d+$', '\\1') || '-r' ||
  (coalesce(substring(workflow_id from '-[0-9a-z]{${END}}-r(\\d+)$')::int, 0) + 1)`
