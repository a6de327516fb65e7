import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { type Config, readVariables } from '../config/config.ts'
import type { OperatorLimits } from '../config/limits.ts'
import { lookAgain } from './look-again.ts'

const LOOK_EVERY_MS = 2_000

export interface LiveLimits extends OperatorLimits {
  /** Calls `apply` with the limits after each change. */
  onChange(apply: (limits: OperatorLimits) => void): void
}

/**
 * The limits of TIERS_FILE, which is read again on SIGHUP and every two seconds: each property is the current one. A
 * faulty file is refused as a whole, and the previous limits stay. An editor may still be writing the file, so outside
 * of SIGHUP a fault is reported only when it is seen twice.
 */
export function keepLimits(
  { log, ends }: { log: Logger; ends: AsyncDisposableStack },
  config: Pick<Config, 'limits'>,
  env: NodeJS.ProcessEnv = process.env,
): LiveLimits {
  const uses: ((limits: OperatorLimits) => void)[] = []
  const live: LiveLimits = { ...config.limits, onChange: (apply) => uses.push(apply) }
  let current = config.limits
  let lastFault = ''
  let reportedFault = ''

  function look(isAsked: boolean): void {
    const read = readVariables(env, ['tiers', 'defaultTier'])
    const fault = 'faults' in read ? read.faults.map(({ name, why }) => `${name} ${why}`).join('; ') : ''
    if (fault !== '' && (isAsked || fault === lastFault) && fault !== reportedFault) {
      log.error({ why: fault }, 'the file of limits is refused: the previous limits stay until it is corrected')
      reportedFault = fault
    }
    lastFault = fault
    if ('faults' in read) return
    reportedFault = ''
    const { tiers, defaultTier } = read.variables
    const limits = Object.freeze({ ...tiers, defaultTier })
    if (isDeepStrictEqual(limits, current)) return
    current = limits
    Object.assign(live, limits)
    log.info('the limits were read again')
    for (const apply of uses) apply(limits)
  }

  const onError = (error: unknown) => log.error({ err: error }, 'the new limits could not be applied')
  lookAgain(ends, LOOK_EVERY_MS, look, onError)
  return live
}
