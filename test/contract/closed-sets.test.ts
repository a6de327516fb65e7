import { readFileSync } from 'node:fs'
import type { DescEnum, DescMessage } from '@bufbuild/protobuf'
import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { describe, expect, test } from 'vitest'
import { emails } from '../../cli/email-list.ts'
import { events } from '../../cli/events.ts'
import { explain } from '../../cli/explain.ts'
import { webhook } from '../../cli/webhook.ts'
import { shownAttempt } from '../../dashboard/attempts/outcomes.ts'
import { EVENT_KINDS as SHOWN_KINDS } from '../../dashboard/events/event-kinds.ts'
import { stepsOf } from '../../dashboard/messages/conversation-steps.ts'
import { sentenceOf } from '../../dashboard/messages/sentences.ts'
import { TROUBLES as SHOWN_TROUBLES } from '../../dashboard/settings/notifications/words.ts'
import { contractComments, SERVICES } from '../../dev/openapi/contract.ts'
import { openApiDocument } from '../../dev/openapi/document.ts'
import { type Notification, TroubleKindSchema } from '../../gen/verdict/admin/v1/notifications_pb.ts'
import { ErrorReasonSchema } from '../../gen/verdict/v1/errors_pb.ts'
import { AttemptOutcomeSchema } from '../../gen/verdict/v1/events_pb.ts'
import {
  DeliveryStatus,
  ReasonSchema,
  type RecipientOutcome,
  type SmtpEvidence,
  SmtpPhaseSchema,
  SmtpTimingsSchema,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import {
  EmailDeliveryPayloadSchema,
  EmailFeedbackPayloadSchema,
  WebhookTestPayloadSchema,
} from '../../gen/verdict/v1/payload_pb.ts'
import { BOUNCE_REASONS, TIMED_PHASES } from '../../mail/smtp/attempt.ts'
import type { StoredEvent } from '../../server/db/delivery-event.ts'
import { shortNames } from '../../server/db/enum-names.ts'
import { EVENT_KINDS } from '../../server/db/event-kinds.ts'
import { TROUBLE_KINDS } from '../../server/db/people-schema.ts'
import { PUBLIC_ERRORS } from '../../server/errors.ts'
import { TROUBLES } from '../../server/notices/troubles.ts'
import { explain as withDetail } from '../../server/sending/rejection.ts'
import { shownEnd } from '../../server/services/attempt-outcomes.ts'
import { behaviourOf } from '../../server/simulator/behaviours.ts'
import { payloadOf } from '../../server/webhooks/payload.ts'
import { POST_OUTCOMES } from '../../server/webhooks/post-outcomes.ts'
import { newEvent } from '../webhooks/rows.ts'

// A closed set of words is the same everywhere: a word that one place forgets is a wrong body, an empty cell or a value
// that a client does not know. Where a place is a table or a `switch` over the set's type, `tsc` finds that. This test
// compares the others. CONTRIBUTING.md has a checklist for a new kind of event, and one for a new reason.

const comments = contractComments()
const document = openApiDocument(SERVICES, comments, '0')
// biome-ignore lint/suspicious/noExplicitAny: parts of a document of JSON
const { schemas } = document.components as any
const typescript = readFileSync('client/gen/contract.ts', 'utf8')
const python = readFileSync('client/python/src/verdict_client/_contract.py', 'utf8')
const textOf = (file: string) => readFileSync(file, 'utf8')

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
  'the OpenAPI document': schemas[desc.name].enum,
  'the TypeScript client': ofTypeScript(desc.name),
  'the Python client': ofPython(desc.name),
})

function expectEverywhere(words: readonly string[], places: Record<string, Iterable<string>>): void {
  const sorted = [...words].sort()
  const given = Object.entries(places).map(([place, found]) => [place, [...new Set(found)].sort()])
  expect(Object.fromEntries(given)).toEqual(Object.fromEntries(given.map(([place]) => [place, sorted])))
}

const print = () => {}
