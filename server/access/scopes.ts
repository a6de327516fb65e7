import { type DescMethod, getOption } from '@bufbuild/protobuf'
import { AccountService } from '../../gen/verdict/v1/account_pb.ts'
import { DomainService } from '../../gen/verdict/v1/domains_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import { scope } from '../../gen/verdict/v1/options_pb.ts'
import { ReceiptService } from '../../gen/verdict/v1/receipts_pb.ts'
import { StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import type { KeyKind } from './api-key.ts'

/** The services that callers with a key use, in the order of the OpenAPI document. */
export const PUBLIC_SERVICES = [
  EmailService,
  ReceiptService,
  EventService,
  WebhookService,
  DomainService,
  StatsService,
  SuppressionService,
  LimitsService,
  AccountService,
]
const METHODS: readonly DescMethod[] = PUBLIC_SERVICES.flatMap((service) => service.methods)

const nameOf = (method: DescMethod) => `${method.parent.typeName}/${method.name}`

// Read once, because an option is parsed anew at each access. By name, because the gateway has its own descriptors.
const SCOPE_OF = new Map(METHODS.map((method) => [nameOf(method), getOption(method, scope)]))

/** The scope of a method that every valid key may call. It is never granted, so no key has it. */
const ANY = 'any'

/** Every scope that a key can have: the scopes that the methods of the contract require. */
export const SCOPES: readonly string[] = [...new Set(SCOPE_OF.values())].filter((scope) => scope !== ANY).sort()

/**
 * The scopes that keys of a kind may have. A test key sends dry runs and reads. It changes nothing that live mail
 * depends on, such as a domain, the webhook endpoint or a suppression list.
 */
export const SCOPES_OF: Readonly<Record<KeyKind, readonly string[]>> = {
  live: SCOPES,
  test: SCOPES.filter((scope) => scope === 'emails.send' || scope.endsWith('.read')),
}

/** The effective scopes of a stored key. Test keys that are older than this rule may be stored with more scopes. */
export function heldScopes({ test, scopes }: { test: boolean; scopes: readonly string[] }): string[] {
  return test ? scopes.filter((scope) => SCOPES_OF.test.includes(scope)) : [...scopes]
}

export function mayCall(scopes: ReadonlySet<string>, method: DescMethod): boolean {
  const required = scopeOf(method)
  return required === ANY || scopes.has(required)
}

/** The scope that a method requires. Throws when it names none: such a method must not be served. */
export function scopeOf(method: DescMethod): string {
  const required = SCOPE_OF.get(nameOf(method))
  if (!required) throw new Error(`${nameOf(method)} requires no scope`)
  return required
}
