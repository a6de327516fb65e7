import { endOf, type Point, RECORD, startOf } from '../points.ts'

// Every point of an attempt at which a process can die, recognized by a message to its database.

/** Stores the start of an attempt. The start of a first attempt is not stored. */
const BEGIN = 'update open_dispatches d set started_at ='
export const END = 'kept_attempts as'
const ASSIGN = 'update open_dispatches d set workflow_id ='
const HANDED_OVER = 'set handed_over_at ='
const FINISH = 'delete from open_dispatches where id = any'
/** Stores the dispatches of a replay, before its workflow is started. */
export const REPLAY = "'replay', now()"

/** A worker killed during an attempt delays its dispatches by 15 s, so these points come last. */
export const WORKER_POINTS: Point[] = [
  { name: 'the workflow is assigned, and the response is lost', is: startOf(ASSIGN) },
  { name: 'the workflow is started, before that is stored', is: startOf(HANDED_OVER), act: 'reset' },
  { name: 'before the dispatch ends', is: startOf(FINISH), act: 'reset' },
  { name: 'the dispatch ends, and the response is lost', is: startOf(FINISH) },
  { name: 'the attempt begins, before its POST', is: endOf(BEGIN) },
  { name: 'the POST has a response, before that is stored', is: startOf(END), act: 'reset' },
  { name: 'the outcome of the attempt is stored, and the response is lost', is: startOf(END) },
]

export const API_POINTS: Point[] = [
  { name: 'right after the commit', is: endOf(RECORD) },
  { name: 'the first attempt has a response, before that is stored', is: startOf(END), act: 'reset' },
  { name: 'the outcome of the first attempt is stored, and the response is lost', is: startOf(END) },
]
