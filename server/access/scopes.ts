import { type DescMethod, getOption } from '@bufbuild/protobuf'
import { DomainService } from '../../gen/verdict/v1/domains_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import { scope } from '../../gen/verdict/v1/options_pb.ts'
import { StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import type { KeyKind } from './key.ts'

const METHODS: readonly DescMethod[] = [
  EmailService,
  EventService,
  WebhookService,
  DomainService,
  StatsService,
  SuppressionService,
  LimitsService,
].flatMap((service) => service.methods)

const nameOf = (method: DescMethod) => `${method.parent.typeName}/${method.name}`

// Read once, since an option is parsed anew each time it is asked for; by name, since the gateway has descriptors of its own.
const SCOPE_OF = new Map(METHODS.map((method) => [nameOf(method), getOption(method, scope)]))

/** What a method asks for that every valid key may call. No key has it: it is not granted. */
const ANY = 'any'

/** Every scope a key can have: those the methods of the contract ask for. */
export const SCOPES: readonly string[] = [...new Set(SCOPE_OF.values())].filter((scope) => scope !== ANY).sort()

/**
 * What keys of a kind may have. A test key sends dry runs and reads: it changes nothing that live mail depends on, such as a domain,
 * the webhook endpoint or a suppression list.
 */
export const SCOPES_OF: Readonly<Record<KeyKind, readonly string[]>> = {
  live: SCOPES,
  test: SCOPES.filter((scope) => scope === 'emails.send' || scope.endsWith('.read')),
}

/** The scopes of a stored key that count. Test keys made before this rule may be stored with more than they may have. */
export function heldScopes({ test, scopes }: { test: boolean; scopes: readonly string[] }): string[] {
  return test ? scopes.filter((scope) => SCOPES_OF.test.includes(scope)) : [...scopes]
}

export function mayCall(scopes: ReadonlySet<string>, method: DescMethod): boolean {
  const asked = scopeOf(method)
  return asked === ANY || scopes.has(asked)
}

/** The scope a method asks for. Throws when it names none: such a method must not be served. */
export function scopeOf(method: DescMethod): string {
  const found = SCOPE_OF.get(nameOf(method))
  if (!found) throw new Error(`${nameOf(method)} asks for no scope`)
  return found
}
