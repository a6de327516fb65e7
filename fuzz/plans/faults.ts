import type { Sql } from 'postgres'
import { readStatements } from '../../test/harness/postgres-wire.ts'
import type { TcpProxy, Act as WireAct } from '../../test/harness/proxy.ts'
import { type Act, DEFAULT, type Script } from '../../test/harness/smtp-script.ts'
import { type Plan, STATEMENTS, WRITES } from './plan.ts'

type ServerVerb = Plan['server'][number]['verb']

// The faults of a plan, at the mail server, between the service and its database, and in the database.

const SLOW_MS = 30
/** Longer than what a send may wait for its server. */
const VERY_SLOW_MS = 400

/** The script of a mail server: its n-th command of a kind meets the fault of the plan. */
export function scriptOf(faults: Plan['server']): Script {
  return Object.fromEntries(
    Array.from(new Set(faults.map(({ verb }) => verb)), (verb) => {
      let times = 0
      return [
        verb,
        () => {
          const nth = times++
          const act = faults.find((fault) => fault.verb === verb && fault.nth === nth)?.act
          return act === 'slow' ? slow(verb) : act
        },
      ]
    }),
  )
}

function slow(verb: ServerVerb): Act | undefined {
  return verb === 'content' ? undefined : { after: SLOW_MS, act: DEFAULT[verb] }
}

/** Loses or delays the statements of a plan on their way. Returns the function that takes the next plan's. */
export function loseStatements(proxy: TcpProxy): (faults: Plan['statements']) => void {
  const statementsOf = readStatements()
  let faults: Plan['statements'] = []
  const counts = new Map<string, number>()
  const meets = (sql: string[], when: 'starts' | 'ends') => {
    for (const [statement, part] of Object.entries(STATEMENTS)) {
      if (!sql.some((text) => text.includes(part))) continue
      const place = `${statement} ${when}`
      const nth = counts.get(place) ?? 0
      counts.set(place, nth + 1)
      const fault = faults.find((each) => each.statement === statement && each.nth === nth)
      if (fault && (when === 'ends') === (fault.act === 'lost after')) return WIRE_ACTS[fault.act]
    }
    return undefined
  }
  proxy.onMessage = (message) => {
    const { starts, ends } = statementsOf(message)
    return meets(starts, 'starts') ?? meets(ends, 'ends')
  }
  return (next) => {
    faults = next
    counts.clear()
  }
}

const WIRE_ACTS: Record<string, WireAct> = {
  'lost before': 'reset',
  'lost after': 'reset',
  slow: { afterMs: SLOW_MS, act: 'pass' },
  'very slow': { afterMs: VERY_SLOW_MS, act: 'pass' },
}

/** Makes the database count the writes of the service, and refuse those that a plan names. */
export async function countWrites(sql: Sql): Promise<void> {
  await sql.unsafe(`
    create table fuzz_fault (write text, nth int, code text);
    create function fuzz_fault() returns trigger language plpgsql as $$
      declare
        times int := nextval('fuzz_' || tg_argv[0]) - 1;
        refusal text := (select min(code) from fuzz_fault where write = tg_argv[0] and nth = times);
      begin
        if refusal is not null then raise exception 'a planned fault' using errcode = refusal; end if;
        return null;
      end $$;`)
  for (const [write, event] of Object.entries(WRITES))
    await sql.unsafe(`
      create sequence fuzz_${write};
      create trigger fuzz_${write} before ${event} for each statement
        when (current_setting('application_name') like 'verdict%') execute function fuzz_fault('${write}')`)
}

export async function refuseWrites(sql: Sql, faults: Plan['writes']): Promise<void> {
  await sql.unsafe('truncate fuzz_fault')
  for (const write of Object.keys(WRITES)) await sql`select setval(${`fuzz_${write}`}, 1, false)`
  if (faults.length > 0) await sql`insert into fuzz_fault ${sql(faults)}`
}
