import { indexOf } from './column.ts'
import { isReason } from './reasons.ts'
import { AddressFileFault, type Counts, holds, MAX_SHOWN, type Row, wordsOf } from './table.ts'

// What a row of an export means. Many exports have a row for each message and a column of its state: an address whose
// mail arrived is not to be suppressed.

/** Rows whose column has one of these values. */
export interface Condition {
  column: string
  values: string[]
}

/** A column of more different values is none of states. */
const FEW = 20

/** Words of life, in the languages of the providers' exports. */
const LIFE = [
  'valid, delivered, sent, active, opened, open, clicked, click, soft, temporary, transient, deferred, expired',
  'gültig, zugestellt, gesendet, versendet, aktiv, geöffnet, geklickt, weich, temporär, vorübergehend, verzögert, abgelaufen',
  'valide, délivré, délivrée, livré, distribué, envoyé, envoyée, actif, active, ouvert, cliqué, temporaire, différé, expiré',
  'válido, válida, entregado, enviado, enviada, activo, activa, abierto, clic, temporal, suave, diferido, aplazado, caducado',
  'valido, valida, consegnato, recapitato, inviato, inviata, attivo, attiva, aperto, cliccato, temporaneo, differito, scaduto',
  'entregue, ativo, ativa, aberto, clicado, temporário, adiado, expirado',
  'geldig, afgeleverd, bezorgd, verzonden, verstuurd, actief, geopend, geklikt, tijdelijk, zacht, uitgesteld, verlopen',
]
const ALIVE = new Set(LIFE.flatMap((list) => list.split(', ')))
const NEGATIONS = new Set(['not', 'non', 'un', 'in', 'nicht', 'niet', 'no', 'não', 'pas'])
const YES = new Set(['yes', 'y', 'true', '1', 'ja', 'oui', 'si', 'sí', 'sim'])
const NO = new Set(['no', 'n', 'false', '0', 'nein', 'non', 'nee', 'não', ''])
const REFUSED = /^5(?:\d\d|\.\d{1,3}\.\d{1,3})$/
const CODE = /^[245](?:\d\d|\.\d{1,3}\.\d{1,3})$/
const COUNT = /^\d{1,4}$/
const DATE =
  /^(?:(?!0000)\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4})(?![\w.])|^(?!0000)\d{4}-\d\d-\d\dT|^1\d{9}(?:\d{3})?$/
/** Dates are one value. */
const A_DATE = 'a date'
/** Columns of the time when an entry ends, which only some have. */
const ENDS = ['expires, expiry, expired, expiration, until, ends, ended, removed, lifted']
type CountedAs = (cell: string) => string
const whole: CountedAs = (cell) => (DATE.test(cell) ? A_DATE : cell)
/** `Delivered` of `Delivered at 10:31`, and `250` of `250 2.0.0 OK`. */
const beginning: CountedAs = (cell) => /^(?:[245]\d\d(?=[ -])|\p{L}+)/u.exec(cell)?.[0] ?? cell
const whetherAny: CountedAs = (cell) => cell && 'a text'
/** The first of these by which a column has few values. */
const COUNTED_AS = [whole, beginning, whetherAny]
/** Columns of states, in whatever words their values are. */
const STATES = [
  'status, state, event, result, verdict, outcome, disposition, zustand, ergebnis, statut, état, résultat, estado',
  'resultado, stato, esito, risultato, situação, toestand, resultaat, stan, wynik, stav, статус, состояние, 状态, 状態',
]
/** Columns that explain. */
const EXPLAINS = ['reason, error, grund, fehler, raison, erreur, motivo, errore, erro, reden, fout']
const SUBJECTS = ['subject, betreff, sujet, objet, asunto, oggetto, assunto, onderwerp']

const isAlive = (words: readonly string[]) =>
  words.some((word, i) => ALIVE.has(word) && !NEGATIONS.has(words[i - 1] ?? ''))

/**
 * The columns of few values of which one says that the mailbox lives. Without such a column, those that divide the rows
 * in other words.
 */
export function statesOf(all: readonly Row[], headings: readonly string[], address: number): Counts[] {
  const rows = all.filter(({ cells }) => (cells[address] ?? '').trim() !== '')
  const columns = headings.flatMap((column, index) => {
    const words = wordsOf(column)
    if (index === address || holds(words, ...SUBJECTS)) return []
    return [{ column, words, counts: countsOf(rows, index), explains: holds(words, ...EXPLAINS) }]
  })
  const named = columns.filter(({ explains }) => !explains)
  const ofLife = named.filter(({ words, counts }) => {
    const isOfLife = isAlive(words)
    const isYesTo = (value: string) => isYes(value.toLowerCase()) || (value === A_DATE && '' in counts)
    return Object.keys(counts).some((value) => isAlive(wordsOf(value)) || (isOfLife && isYesTo(value)))
  })
  const dividing = named.filter(({ words, counts }) => divides(Object.keys(counts), words))
  const isSaidOfAll = columns.some(({ counts, explains }) => Object.keys(counts).every(explains ? Boolean : isWhy))
  const lacking = isSaidOfAll ? [] : columns.filter(({ counts, explains }) => isLacked(Object.keys(counts), explains))
  const found = [ofLife, dividing, lacking].find(({ length }) => length > 0) ?? []
  return found.map(({ column, counts }) => ({ column, counts }))
}

const isWhy = (value: string) => isReason(value) || REFUSED.test(value)

/**
 * Whether some rows have what others lack, and so may be suppressed, in a file that does not say of all rows why: a
 * time, as of `unsubscribed_at`, a cause, or a count, as of bounces.
 */
function isLacked(values: readonly string[], explains: boolean): boolean {
  if (values.length < 2) return false
  return values.includes(explains ? '' : A_DATE) || (values.includes('0') && values.every((value) => COUNT.test(value)))
}

/**
 * Whether the column says of some rows, and not of all, why their addresses are to be suppressed. A file of rows that
 * are alike is a list: who imports it means all of it.
 */
function divides(values: readonly string[], heading: readonly string[]): boolean {
  const answers = values.map((value) => value.toLowerCase())
  const isFlag = answers.every((answer) => isYes(answer) || NO.has(answer))
  if (isFlag) return answers.some(isYes) && answers.some((answer) => NO.has(answer))
  if (values.every((value) => CODE.test(value))) return !values.every((value) => REFUSED.test(value))
  const isOfEnds = holds(heading, ...ENDS)
  const saysWhy = values.filter((value) => isWhy(value) || (value === A_DATE && isOfEnds))
  const isOfStates = values.length > 1 && holds(heading, ...STATES)
  return saysWhy.length < values.length && (saysWhy.length > 0 || isOfStates)
}

const isYes = (answer: string) => YES.has(answer) || answer === 'x'

/** How many rows have each value of a column. */
export function countsOf(rows: readonly Row[], index: number): Record<string, number> {
  return countedIn(rows, index).counts
}

/** The first way to count a column by which it has few values, and these. */
function countedIn(rows: readonly Row[], index: number, [countedAs, ...others] = COUNTED_AS): Counted {
  const counts = countsAs(rows, index, countedAs!)
  return counts ? { countedAs: countedAs!, counts } : countedIn(rows, index, others)
}

interface Counted {
  countedAs: CountedAs
  counts: Record<string, number>
}

function countsAs(rows: readonly Row[], index: number, countedAs: CountedAs): Record<string, number> | undefined {
  const counts = new Map<string, { value: string; count: number }>()
  for (const { cells } of rows) {
    const value = countedAs((cells[index] ?? '').trim())
    const known = counts.get(value.toLowerCase())
    if (known) known.count++
    else if (counts.size === FEW) return undefined
    else counts.set(value.toLowerCase(), { value: value.slice(0, MAX_SHOWN), count: 1 })
  }
  return Object.fromEntries([...counts.values()].map(({ value, count }) => [value, count]))
}

/** The rows that meet all conditions. Throws for a column that the file lacks, and for a value that no row has. */
export function rowsWhere(rows: readonly Row[], headings: readonly string[], conditions: readonly Condition[]): Row[] {
  const wanted = conditions.map(({ column, values }) => {
    const index = indexOf(headings, column)
    const { countedAs, counts } = countedIn(rows, index)
    const valuesIn = ({ cells }: Row) => {
      const cell = (cells[index] ?? '').trim()
      return [cell, countedAs(cell)].map((value) => value.toLowerCase())
    }
    const set = new Set(values.map((value) => value.trim().toLowerCase()))
    const found = new Set(rows.flatMap(valuesIn))
    const missing = values.find((value) => !found.has(value.trim().toLowerCase()))
    if (missing !== undefined) {
      const known = `Its values: ${shownCounts(counts)}`
      throw new AddressFileFault(
        `No row has ${JSON.stringify(missing)} in the column ${JSON.stringify(column)}. ${known}`,
      )
    }
    return { valuesIn, set }
  })
  return rows.filter((row) => wanted.every(({ valuesIn, set }) => valuesIn(row).some((value) => set.has(value))))
}

export const shownCounts = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .map(([value, count]) => `${value || '(empty)'} ${count}`)
    .join(', ')
    .slice(0, MAX_SHOWN)
