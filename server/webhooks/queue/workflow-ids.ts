import { publicId } from '../../db/ids.ts'

const PREFIXES = { original: 'webhook', replay: 'replay' }
/** Enough of an id's random part that no two groups share a workflow. */
const END = 10

/**
 * The id of the workflow that takes a group of dispatches, by which an operator finds it: it names the event, or the
 * endpoint and the first event of several. The end of the first dispatch's id tells the dispatches of one event apart.
 * One group always has the same id: of two processes that hand it over, one starts the workflow.
 */
export function workflowIdOf(
  kind: 'original' | 'replay',
  endpointId: string,
  dispatches: readonly { id: string; eventId: string }[],
): string {
  const { id, eventId } = dispatches[0]!
  const group = dispatches.length === 1 ? [] : [publicId('whk', endpointId)]
  return [PREFIXES[kind], ...group, publicId('evt', eventId), publicId('dsp', id).slice(-END)].join('-')
}

/**
 * SQL: the id of the workflow that replaces a lost one: it ends in `-r1`, and then counts. Temporal does not know it,
 * and all processes that look at the same moment choose the same one.
 */
export const REVIVED_ID = `
  regexp_replace(workflow_id, '(-[0-9a-z]{${END}})-r\\d+$', '\\1') || '-r' ||
  (coalesce(substring(workflow_id from '-[0-9a-z]{${END}}-r(\\d+)$')::int, 0) + 1)`
