import { endOf, type Point, RECORD, startOf } from '../points.ts'

// Every point of an attempt at which a process can die, as it shows between it and its database.

/** Any attempt but the first, which needs no word that it begins. */
const BEGIN = 'update open_dispatches d set started_at ='
export const END = 'kept_attempts as'
const ASSIGN = 'update open_dispatches d set workflow_id ='
const HANDED_OVER = 'set handed_over_at ='
const FINISH = 'delete from open_dispatches where id = any'
/** The dispatches of a replay, before its workflow is started. */
export const REPLAY = "'replay', now()"

/** A worker that is killed in an attempt holds its dispatches up for 15 s: these come last. */
export const WORKER_POINTS: Point[] = [
  { name: 'the workflow is assigned, and nobody hears', is: startOf(ASSIGN) },
  { name: 'the workflow is started, before that is written down', is: startOf(HANDED_OVER), act: 'reset' },
  { name: 'before the dispatch is over', is: startOf(FINISH), act: 'reset' },
  { name: 'the dispatch is over, and nobody hears', is: startOf(FINISH) },
  { name: 'the attempt begins, before its POST', is: endOf(BEGIN) },
  { name: 'the POST is answered, before that is written down', is: startOf(END), act: 'reset' },
  { name: 'it is written down how the attempt ended, and nobody hears', is: startOf(END) },
]

export const API_POINTS: Point[] = [
  { name: 'right after the commit', is: endOf(RECORD) },
  { name: 'the first attempt is answered, before that is written down', is: startOf(END), act: 'reset' },
  { name: 'it is written down how the first attempt ended, and nobody hears', is: startOf(END) },
]
