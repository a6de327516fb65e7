import { readdirSync, readFileSync } from 'node:fs'

const RULES = new URL('../../../../mail/smtp/rules/', import.meta.url)

/** Every phrase of the tables of replies, as it is written there. A star at the end of a word is left out. */
export function phrasesOfTables(): string[] {
  const sources = readdirSync(RULES).map((file) => readFileSync(new URL(file, RULES), 'utf8'))
  const lists = sources.flatMap((source) => [...source.matchAll(/'((?:[^'\\\n]|\\.){3,})'/g)].map(([, list]) => list!))
  const phrases = lists.flatMap((list) => list.split(',')).map((phrase) => phrase.trim().replace(/\*$/, ''))
  return [...new Set(phrases.filter((phrase) => /^[\p{L}\p{M}\d %:]{3,}$/u.test(phrase)))]
}
