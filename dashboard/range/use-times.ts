import { useMemo } from 'react'
import { type RangeSearch, withTimes } from './presets.ts'

/** The search of a list with times. A preset keeps its start until another is chosen, so that pages follow on. */
export function useTimes<Search extends RangeSearch>(search: Search) {
  const { range } = search
  // biome-ignore lint/correctness/useExhaustiveDependencies: the start belongs to the preset that was chosen
  const chosenAtMs = useMemo(() => Date.now(), [range])
  return withTimes(search, chosenAtMs)
}
