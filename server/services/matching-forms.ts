import { setImmediate } from 'node:timers/promises'
import { matchingFormOf } from '../../mail/address.ts'

const SLICE = 250

/**
 * Brings addresses into their matching form; undefined for a text that is not an address. Works in slices: 10,000 texts
 * that were built to be slow to parse would delay all other calls by a second.
 */
export async function matchingForms(texts: string[]): Promise<(string | undefined)[]> {
  const forms: (string | undefined)[] = []
  while (forms.length < texts.length) {
    forms.push(...texts.slice(forms.length, forms.length + SLICE).map(matchingFormOf))
    await setImmediate()
  }
  return forms
}
