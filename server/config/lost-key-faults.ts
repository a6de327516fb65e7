import type { Fault } from './config.ts'

/** What the check of the database found about the values that one key sealed in one column. */
interface UnopenedValues {
  key: string | undefined
  table: string
  values: number
  isKeyLost: boolean
}

const NAME = 'ENCRYPTION_KEYS'

/** Returns a fault for each lost key that the operator has not given up. */
export function lostKeyFaults(unopened: readonly UnopenedValues[], givenUp: readonly string[]): Fault[] {
  const lost = unopened.filter(({ isKeyLost }) => isKeyLost)
  const byKey = Map.groupBy(lost, ({ key = '' }) => key)
  const notGivenUp = [...byKey].filter(([key]) => !givenUp.includes(key))
  return notGivenUp.map(([key, columns]) => ({
    name: NAME,
    why:
      `does not open what the key ${JSON.stringify(key)} has sealed (${columns.map(countOf).join(', ')}). ` +
      `Add that key again, after the first, and run: npx verdict secrets rotate. ` +
      `If it is gone for ever, set LOST_ENCRYPTION_KEYS=${key}`,
    example: `${NAME}="<your keys>,${key}:<its 32 bytes in base64>"`,
  }))
}

const countOf = ({ table, values }: UnopenedValues) => `${values} in ${table}`
