import { readFileSync } from 'node:fs'
import type { DescEnum } from '@bufbuild/protobuf'
import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { expect, test } from 'vitest'
import { emailsCommand } from '../../cli/email-list.ts'
import { type PrintedEvent, statusOf } from '../../cli/event-text.ts'
import { eventsCommand } from '../../cli/events.ts'
import { PHASES as EXPLAINED_PHASES, explainCommand } from '../../cli/explain.ts'
import { suppressionCommand } from '../../cli/suppression.ts'
import { webhookCommand } from '../../cli/webhook.ts'
import type { Event } from '../../client/gen/contract.ts'
import type { WebhookEvent } from '../../client/verify-webhook.ts'
import { EVENT_KIND_NAMES as SHOWN_KINDS } from '../../dashboard/events/event-kinds.ts'
import { stepsOf } from '../../dashboard/messages/conversation-steps.ts'
import { sentenceOf } from '../../dashboard/messages/sentences.ts'
import { TROUBLE_WORDS } from '../../dashboard/settings/notifications/words.ts'
import { EVIDENCE_KIND_WORDS as SHOWN_EVIDENCE } from '../../dashboard/suppressions/evidence-words.ts'
import { contractComments } from '../../dev/openapi/contract.ts'
import { openApiDocument } from '../../dev/openapi/document.ts'
import { TroubleKindSchema } from '../../gen/verdict/admin/v1/notifications_pb.ts'
import { ErrorReasonSchema } from '../../gen/verdict/v1/errors_pb.ts'
import { AttemptOutcomeSchema } from '../../gen/verdict/v1/events_pb.ts'
import {
  DecidedBySchema,
  DeliveryStatus,
  EvidenceKindSchema,
  ReasonSchema,
  type RecipientOutcome,
  type SmtpEvidence,
  SmtpPhaseSchema,
  SmtpTimingsSchema,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { BOUNCE_REASONS, type DecidedBy, KINDS, TIMED_PHASES } from '../../mail/smtp/attempt.ts'
import { PUBLIC_SERVICES } from '../../server/access/scopes.ts'
import { shortNames } from '../../server/db/enum-names.ts'
import { EVENT_KINDS, type EventKind } from '../../server/db/event-kinds.ts'
import { NOTICE_KINDS, TROUBLE_KINDS } from '../../server/db/people-schema.ts'
import { PUBLIC_ERRORS } from '../../server/errors.ts'
import { TROUBLES } from '../../server/notices/troubles.ts'
import { explain as withDetail } from '../../server/sending/rejection.ts'
import { shownEnd } from '../../server/services/attempt-outcomes.ts'
import { behaviourOf } from '../../server/simulator/behaviours.ts'
import { POST_OUTCOMES } from '../../server/webhooks/post/post-outcomes.ts'

// A closed set of words is the same everywhere. A place that forgets a word shows a wrong body or an empty cell. Where
// a place is a table or a `switch` over the set's type, `tsc` finds that. This test compares the other places.
// CONTRIBUTING.md has a checklist for a new event kind, and one for a new reason.

const comments = contractComments()
const document = openApiDocument(PUBLIC_SERVICES, comments, '0')
// biome-ignore lint/suspicious/noExplicitAny: parts of a document of JSON
const { schemas } = document.components as any
const guide = (name: string) => readFileSync(`docs/${name}.md`, 'utf8')
const typescript = readFileSync('client/gen/contract.ts', 'utf8')
const python = readFileSync('client/python/src/verdict_client/_contract.py', 'utf8')

const found = (text: string, pattern: RegExp): string[] => Array.from(text.matchAll(pattern), ([, word]) => word!)
const quoted = (text: string) => found(text, /['"]([\w.]+)['"]/g)
/** The words of `type Name = 'a' | 'b'`. */
const ofTypeScript = (name: string) => quoted(typescript.match(new RegExp(`^export type ${name} = (.*)$`, 'm'))![1]!)
/** The words of `Name = Literal["a", "b"]`. */
const ofPython = (name: string) => quoted(python.match(new RegExp(`^${name} = Literal\\[([^\\]]*)\\]`, 'm'))![1]!)

/** The words that an option of a command takes, by the path of the command. */
function choicesOf(command: CommandUnknownOpts, option: string): Record<string, readonly string[]> {
  const own = command.options.find(({ long }) => long === `--${option}`)?.argChoices
  return Object.assign(
    own ? { [`verdict ${command.name()} --${option}`]: own } : {},
    ...command.commands.map((inner) => choicesOf(inner, option)),
  )
}

/** The words of an enum in the contract, the OpenAPI document and both clients. */
const ofEnum = (desc: DescEnum) => ({
  'the contract': shortNames(desc),
  'the OpenAPI document': schemas[desc.name]['x-extensible-enum'],
  'the TypeScript client': ofTypeScript(desc.name),
  'the Python client': ofPython(desc.name),
})

function expectEverywhere(words: readonly string[], places: Record<string, Iterable<string>>): void {
  const sorted = [...words].sort()
  const given = Object.entries(places).map(([place, found]) => [place, [...new Set(found)].sort()])
  expect(Object.fromEntries(given)).toEqual(Object.fromEntries(given.map(([place]) => [place, sorted])))
}

// A client that forgets a kind does not compile.
type Same<A, B> = [A, B] extends [B, A] ? true : false
true satisfies Same<Event['event'], EventKind>
true satisfies Same<WebhookEvent['event'], EventKind | 'webhook.test'>

const print = () => {}
const KIND = /`(email\.\w+)`/g

test('the kinds of events are the same everywhere', () => {
  const ofFields = [...comments].filter(([name]) => /^verdict\..*\.events?$/.test(name) && !/Payload\./.test(name))
  const told = ofFields.filter(([, comment]) => comment.includes('`email.'))
  expect(told.length).toBeGreaterThan(5)
  const inDocument = JSON.stringify(document).match(/"enum":\["email\.[^\]]*\]/g)!
  const inPython = python.match(/^ .*Literal\["email\.\w+", .*$/gm)!
  const inTypeScript = typescript.match(/^ .*'email\.\w+' \| .*$/gm)!
  const posted = [...comments].map(([, comment]) => comment).join('\n')
  const listed = (texts: string[], pattern: RegExp) =>
    Object.fromEntries(texts.map((text, index) => [`${index}: ${text.trim()}`, found(text, pattern)]))
  expectEverywhere(EVENT_KINDS, {
    ...Object.fromEntries(told.map(([name, comment]) => [name, found(comment, KIND)])),
    'payload.proto': found(posted, /^Always `(email\.\w+)`/gm),
    'the webhooks of the OpenAPI document': Object.keys(document.webhooks as object)
      .map((name) => name.replace(/[A-Z]/, (letter) => `.${letter.toLowerCase()}`))
      .filter((kind) => kind !== 'webhook.test'),
    ...listed(inDocument, /"(email\.\w+)"/g),
    ...listed(inPython, /"(email\.\w+)"/g),
    ...listed(inTypeScript, /'(email\.\w+)'/g),
    'the events of the Python client': found(python, /^ {4}event: Literal\["(email\.\w+)"\]/gm),
    'the webhooks of the Python client': pythonWebhookKinds(),
    'the dashboard': SHOWN_KINDS.map(({ kind }) => kind),
    ...choicesOf(eventsCommand(print), 'event'),
    ...choicesOf(webhookCommand(print), 'events'),
    'docs/webhooks.md': found(guide('webhooks'), KIND),
  })
})

/** The kinds of `WebhookEvent` in the Python client, by the names of the payloads in it. */
function pythonWebhookKinds(): string[] {
  const union = readFileSync('client/python/src/verdict_client/_webhook.py', 'utf8').match(
    /^WebhookEvent = (.*)$/m,
  )![1]!
  const names = found(union, /(\w+)Payload/g).filter((name) => name !== 'WebhookTest')
  return names.map((name) => name.replace(/\B[A-Z]/, (letter) => `.${letter}`).toLowerCase())
}

test('the command line does not show an event of an unknown kind as an outcome', () => {
  const stored = { event: 'email.later', status: 'delivered' } as PrintedEvent
  expect(statusOf(stored)).toBe('delivered, email.later')
})

/** A rejection that the account of the sender decides: the simulator has no address for it. */
const NOT_SIMULATED = 'domain_not_verified'

test('the reasons are the same everywhere', () => {
  const values = ReasonSchema.values.filter(({ number }) => number !== 0)
  const words = shortNames(ReasonSchema)
  const [bounces, rejections] = [ofTypeScript('BounceReason'), ofTypeScript('RejectionReason')]
  const wordsWhere = (holds: (reason: number) => boolean) => words.filter((_, index) => holds(values[index]!.number))
  expectEverywhere(words, {
    'the OpenAPI document': schemas.Reason['x-extensible-enum'],
    'the TypeScript client': [...bounces, ...rejections],
    'the Python client': [...ofPython('BounceReason'), ...ofPython('RejectionReason')],
    'the simulator': [...words.filter((word) => behaviourOf(word).name === word), NOT_SIMULATED],
    'the sentences of the dashboard': wordsWhere((reason) => {
      const of = (status: DeliveryStatus) => sentenceOf({ status, inDoubt: false } as RecipientOutcome).what
      const { what } = sentenceOf({ status: DeliveryStatus.BOUNCED, reason, inDoubt: false } as RecipientOutcome)
      return what !== of(DeliveryStatus.BOUNCED)
    }),
    ...choicesOf(emailsCommand(print), 'reason'),
    ...choicesOf(eventsCommand(print), 'reason'),
  })
  expectEverywhere(bounces, {
    'mail/smtp': BOUNCE_REASONS,
    'the Python client': ofPython('BounceReason'),
    'docs/verdicts.md': bounces.filter((word) => guide('verdicts').includes(`\`${word}\``)),
  })
  expectEverywhere(rejections, {
    'server/sending/rejection.ts': wordsWhere((reason) => {
      const outcome = { email: 'ann@example.com', status: DeliveryStatus.REJECTED, reason } as RecipientOutcome
      return withDetail(outcome, 'example.com').detail !== undefined
    }),
    'the Python client': ofPython('RejectionReason'),
  })
})

/** Phases that end without a reply. The command also has `late`, the reply in a late bounce. */
const WITHOUT_REPLY = ['dns', 'connect']

const isPhase = (name: string) => name !== 'own'

test('the phases of a conversation are the same everywhere', () => {
  expectEverywhere([...TIMED_PHASES, 'after_dot', 'late'], ofEnum(SmtpPhaseSchema))
  const values = SmtpPhaseSchema.values.filter(({ number }) => number !== 0)
  const steps = values.flatMap(({ number }) => stepsOf({ phase: number } as SmtpEvidence))
  expectEverywhere(TIMED_PHASES, {
    'the timings of the contract': SmtpTimingsSchema.fields.map(({ name }) => name).filter(isPhase),
    'the timings of the OpenAPI document': Object.keys(schemas.SmtpTimings.properties).filter(isPhase),
    'the dashboard': steps.map(({ phase }) => shortNames(SmtpPhaseSchema)[phase - 1]!),
    'verdict explain': [...EXPLAINED_PHASES.filter((phase) => phase !== 'late'), ...WITHOUT_REPLY],
  })
  expect(choicesOf(explainCommand(print), 'phase')).toEqual({ 'verdict explain --phase': EXPLAINED_PHASES })
})

test('the kinds of evidence are the same everywhere', () => {
  const kinds = ['complaint', ...KINDS]
  expectEverywhere(kinds, {
    ...ofEnum(EvidenceKindSchema),
    'the dashboard': SHOWN_EVIDENCE.map(([, name]) => name),
    'verdict suppression list --kind': choicesOf(suppressionCommand(print), 'kind')['verdict list --kind']!,
    'docs/suppression.md': kinds.filter((word) => guide('suppression').includes(`| \`${word}\``)),
  })
  expect(choicesOf(suppressionCommand(print), 'kind')['verdict lift --kind']).toEqual(KINDS)
})

test('what decides is the same everywhere', () => {
  const words = ['words', 'status', 'code'] satisfies DecidedBy[]
  true satisfies Same<DecidedBy, (typeof words)[number]>
  expectEverywhere([...words, 'report'], ofEnum(DecidedBySchema))
})

test('the outcomes of an attempt are the same everywhere', () => {
  const words = [...POST_OUTCOMES, 'unknown'] as const
  expectEverywhere(words, {
    ...ofEnum(AttemptOutcomeSchema),
    'server/services/attempt-outcomes.ts': [
      'acked',
      ...words.filter((outcome) => shownEnd({ outcome, statusCode: 500 } as never).detail !== undefined),
    ],
    'docs/webhooks.md': words.filter((word) => guide('webhooks').includes(`\`${word}\``)),
  })
})

test('the kinds of trouble are the same everywhere', () => {
  expectEverywhere(TROUBLE_KINDS, {
    'the contract': shortNames(TroubleKindSchema),
    'the SQL of troubles': TROUBLE_KINDS.filter((kind) => TROUBLES.includes(`'${kind}'`)),
    'the dashboard': TROUBLE_WORDS.map(([kind]) => shortNames(TroubleKindSchema)[kind - 1]!),
  })
  expectEverywhere(NOTICE_KINDS, {
    'docs/metrics.md': NOTICE_KINDS.filter((kind) => guide('metrics').includes(`\`${kind}\``)),
  })
})

test('the error codes are the same everywhere', () => {
  const words = Object.keys(PUBLIC_ERRORS)
  expectEverywhere(words, {
    ...ofEnum(ErrorReasonSchema),
    'the errors of the OpenAPI document': schemas.Error.properties.error['x-extensible-enum'],
    'docs/api.md': words.filter((word) => guide('api').includes(`\`${word}\``)),
  })
  const statuses = ErrorReasonSchema.values.slice(1).map(({ name }) => {
    const comment = comments.get(`verdict.v1.ErrorReason.${name}`)!
    return Number.parseInt(comment, 10)
  })
  const ofCode = shortNames(ErrorReasonSchema).map((word) => PUBLIC_ERRORS[word as keyof typeof PUBLIC_ERRORS].status)
  expect(statuses).toEqual(ofCode)
})
