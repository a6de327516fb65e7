import { type DescMethod, getOption } from '@bufbuild/protobuf'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { scope } from '../../gen/verdict/v1/options_pb.ts'

const METHODS: readonly DescMethod[] = [EmailService, EventService].flatMap((service) => service.methods)

// Read once: an option is parsed anew each time it is asked for.
const SCOPE_OF = new Map(METHODS.map((method) => [method, getOption(method, scope)]))

/** Every scope a key can have: those the methods of the contract ask for. */
export const SCOPES: readonly string[] = [...new Set(SCOPE_OF.values())].sort()

/** The scope a method asks for. Throws when it names none: such a method must not be served. */
export function scopeOf(method: DescMethod): string {
  const name = SCOPE_OF.get(method)
  if (!name) throw new Error(`${method.parent.typeName}/${method.name} names no scope`)
  return name
}
