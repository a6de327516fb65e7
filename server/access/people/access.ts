import { type DescMethod, getOption } from '@bufbuild/protobuf'
import { Access, access, confirmed } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { ROLES } from '../../db/people-schema.ts'
import { scopeOf } from '../scopes.ts'

export type Role = (typeof ROLES)[number]

/** What a method asks of the person who calls it. */
export interface AccessRule {
  access: Access
  /** Whether the person must have entered the password in the last ten minutes. */
  confirmed: boolean
  /** Whether a call counts against the account's tier, as every call with a key does. */
  counted: boolean
}

/** The scope of the methods that send. A session must not be a way around the limits of the account's tier. */
const SENDING_SCOPE = 'emails.send'

/**
 * The methods of the public API that need the password when a person calls them: all that change an endpoint or show a
 * secret. A session alone must not lead events elsewhere.
 */
const CONFIRMED_SCOPE = 'webhooks.write'
/** They have the same scope, and change nothing. */
const UNCONFIRMED_METHODS = ['verdict.v1.WebhookService/TestWebhook', 'verdict.v1.WebhookService/TestEndpoint']

const rules = new Map<string, AccessRule>()

/**
 * The rule of a method of the dashboard or of the public API. Throws for a method that has none: it must not be
 * served.
 */
export function ruleOf(method: DescMethod): AccessRule {
  const name = `${method.parent.typeName}/${method.name}`
  // Read once, because an option is parsed anew at each access.
  const rule = rules.get(name) ?? readRule(method, name)
  rules.set(name, rule)
  return rule
}

function readRule(method: DescMethod, name: string): AccessRule {
  if (!name.startsWith('verdict.admin.')) {
    const scope = scopeOf(method)
    const reads = scope === 'any' || scope.endsWith('.read')
    return {
      access: reads ? Access.READER : Access.MEMBER,
      confirmed: scope === CONFIRMED_SCOPE && !UNCONFIRMED_METHODS.includes(name),
      counted: scope === SENDING_SCOPE,
    }
  }
  const required = getOption(method, access)
  if (required === Access.UNSPECIFIED) throw new Error(`${name} has no access`)
  return { access: required, confirmed: getOption(method, confirmed), counted: false }
}

const REQUIRED_ROLE: { [access in Access]?: Role } = {
  [Access.READER]: 'reader',
  [Access.MEMBER]: 'member',
  [Access.OWNER]: 'owner',
}

/** The least role that may call a method; undefined for a method that needs no account. */
export function requiredRole({ access }: AccessRule): Role | undefined {
  return REQUIRED_ROLE[access]
}

/** Whether a role includes another. */
export function includes(role: Role, other: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(other)
}
