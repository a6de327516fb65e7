import { answered, asked, type Point } from '../points.ts'

// Every point of an attempt at which a process can die, as it shows between it and its database.

/** A first attempt, which needs no word that it begins. */
export const FIRST = 'd.lease_until > clock_timestamp() +'
/** Any other. */
const BEGIN = 'update open_dispatches d set started_at ='
export const END = 'kept_attempts as'
const ASSIGN = 'update open_dispatches d set workflow_id ='
const HANDED_OVER = 'set handed_over_at ='
const FINISH = 'delete from open_dispatches where id = any'
/** The dispatches of a replay, before its workflow is started. */
export const REPLAY = "'replay', now()"

const around = (name: string, sql: string): Point[] => [
  { name: `before ${name}`, is: asked(sql), act: 'reset' },
  { name: `at ${name}, and nobody hears`, is: asked(sql) },
  { name: `after ${name}`, is: answered(sql) },
]

export const WORKER_POINTS: Point[] = [
  ...around('the workflow is assigned', ASSIGN),
  { name: 'after the start of the workflow, before that is known', is: asked(HANDED_OVER), act: 'reset' },
  ...around('the attempt begins', BEGIN),
  ...around('it is written down how it ended', END),
  ...around('the dispatch is over', FINISH),
]

export const API_POINTS: Point[] = [
  { name: 'before the first attempt', is: answered(FIRST) },
  ...around('it is written down how the first attempt ended', END),
]
