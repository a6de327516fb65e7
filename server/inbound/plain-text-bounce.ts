import { lowerAscii } from '../../mail/address.ts'
import { isAtLeast } from '../../mail/smtp/attempt.ts'
import { type Diagnosis, diagnose, type FailedRecipient } from './diagnosis.ts'
import type { Parts } from './mime-parts.ts'
import { type Passage, passagesOf } from './notice.ts'
import { isBeforeRecipient, mayBeExample } from './quoted-reply.ts'

// Reports that consist only of text for people, as qmail, Exim, Exchange and many others write them.

const MAX_RECIPIENTS = 100
const MAX_PARAGRAPHS = 10
/** Words alone, without a reply, are evidence only for these rows. */
const ABOUT_RECIPIENT = /^(?:mailbox|space|route) /
/** What a notice says in general ("could not be reached") is evidence only where it leaves no doubt. */
const BEYOND_DOUBT = new Set<string | undefined>(['mailbox (unknown, says the reporter)', 'space (full)'])

/** The recipients that the notice names, each with the reason that follows its address. */
export function readPlainTextBounce(parts: Parts, notice: string[], ours: readonly string[] = []): FailedRecipient[] {
  const passages = passagesOf(notice, ours)
  const failed = failedRecipients(parts)
  const addresses = failed.length > 0 ? failed : passages.map(({ address }) => address)
  // Where the notice names another address, only what comes before all addresses is about each of them.
  const isOfOthers = passages.some((passage) => addresses.some((each) => lowerAscii(each) !== passage.address))
  const first = notice.findIndex((line) => line.includes('@'))
  const isSenders = isBeforeRecipient(notice)
  const general = diagnosisOf({ lines: isOfOthers ? notice.slice(0, first) : notice }, ours, isSenders)
  const isSure = isReply(general) || BEYOND_DOUBT.has(general.readAs)
  const all: Diagnosis = isSure ? general : { detail: general.detail }
  const failures = addresses.flatMap((address): FailedRecipient[] => {
    const named = lowerAscii(address)
    const passage = passages.find((each) => each.address === named) ?? passages.find(({ from }) => from === named)
    const own = passage && diagnosisOf(passage, ours, isSenders)
    // A reason before the address, or after a list of addresses, is that of them all.
    const diagnosis = own?.reason !== undefined ? own : { ...all, detail: own?.detail || all.detail }
    if (diagnosis.reason === undefined && failed.length === 0) return []
    const { from, address: failedAddress = address } = passage ?? {}
    return [{ ...diagnosis, addresses: [...new Set([from ?? address, address])], failedAddress }]
  })
  if (failures.length > 0 || all.reason === undefined) return failures
  return [{ ...all, addresses: [] }]
}

function diagnosisOf(
  { address: recipient, lines, beside = [] }: Partial<Passage> & Pick<Passage, 'lines'>,
  ours: readonly string[],
  isSendersElsewhere?: boolean,
): Diagnosis {
  const text = lines.join(' ')
  const [, mx] = /\bhost ([\w.-]{1,253}) ?[[(]/.exec(text) ?? []
  const own = withoutAddressLine(lines)
  const isSenders = isBeforeRecipient(lines) ?? isSendersElsewhere
  const isDoubtful = beside.length > 0 || mayBeExample(lines)
  const read = (lines: string[]) => diagnose({ recipient, lines, mx, ours, isSenders, isDoubtful })
  const diagnosis = read(own)
  const paragraphs = paragraphsOf(own).map(read)
  // A gateway may have added a paragraph that speaks of something else. A reply decides, then what counts least: a
  // heading says less than what happened.
  const evidence = [diagnosis, ...paragraphs].filter(isEvidence)
  const found =
    evidence.find(({ code }) => code !== undefined) ?? weakestOf(evidence) ?? ofSentence(read(lines.slice(0, 1)))
  if (found) return found
  const { detail, enhanced, code, reply } = diagnosis
  return { detail, enhanced, code, reply }
}

/** The sentence that names the recipient may say anything of the message, as that of a group does. */
const ofSentence = (diagnosis: Diagnosis) => (diagnosis.decidedBy === 'words' ? diagnosis : undefined)

const weakestOf = (all: readonly Diagnosis[]) =>
  all.find(({ kind }) => all.every((other) => isAtLeast(other.kind, kind)))

const isEvidence = (diagnosis: Diagnosis) => isReply(diagnosis) || ABOUT_RECIPIENT.test(diagnosis.readAs ?? '')

/** Some reporters write two spaces behind the code: then it is part of the text. */
const isReply = ({ code, detail }: Diagnosis) => code !== undefined || /^[45]\d\d\b/.test(detail)

function paragraphsOf(lines: string[]): string[][] {
  const paragraphs: string[][] = []
  for (const line of lines) {
    const last = paragraphs.at(-1)
    if (last && line !== '') last.push(line)
    else paragraphs.push(line === '' ? [] : [line])
  }
  return paragraphs.filter((paragraph) => paragraph.length > 0).slice(0, MAX_PARAGRAPHS)
}

/** The address itself, as a heading, says nothing. */
function withoutAddressLine(lines: string[]): string[] {
  return lines.filter((line) => !/^<?[^\s<>]{1,320}@[^\s<>]{1,253}>?:?$/.test(line))
}

/** Exim and Google name the recipients in a field. */
function failedRecipients({ header }: Parts): string[] {
  const list = header('x-failed-recipients').split(',', MAX_RECIPIENTS)
  return [...new Set(list.map((address) => address.trim()).filter((address) => address !== ''))]
}
