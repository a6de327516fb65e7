import { type DescMethod, type DescService, getOption, ScalarType } from '@bufbuild/protobuf'
import { http } from '../../../gen/google/api/annotations_pb.ts'
import { scope } from '../../../gen/verdict/v1/options_pb.ts'
import { shapeOf } from './json-shape.ts'

/** One method as REST serves it. */
export interface Binding {
  method: DescMethod
  verb: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH'
  /** As in the contract, `/api/v1/things/{id}`. */
  path: string
  /** JSON names of the fields in the path. */
  inPath: string[]
  /** Whether the request is the JSON body; otherwise it is the query. */
  hasBody: boolean
  /** JSON name of the list that may stand for the whole body. */
  bareList: string | undefined
}

/** The `google.api.http` rules of services. Throws for a rule it cannot serve and for a method without a scope. */
export function bindingsOf(services: DescService[]): Binding[] {
  return services.flatMap((service) => service.methods.flatMap((method) => bindingOf(method) ?? []))
}

function bindingOf(method: DescMethod): Binding | undefined {
  const refuse = (why: string) => new Error(`${method.parent.typeName}.${method.name} ${why}`)
  if (!getOption(method, scope)) throw refuse('has no scope: nobody could be kept from calling it')
  const rule = getOption(method, http)
  if (rule.pattern.case === undefined) return undefined
  if (rule.pattern.case === 'custom') throw refuse('has a custom verb')
  if (method.methodKind !== 'unary') throw refuse('is a stream, which REST cannot serve')
  if (rule.additionalBindings.length > 0) throw refuse('has additional bindings')
  if (rule.body !== '' && rule.body !== '*') throw refuse('has a body that is not the whole request')

  const path = rule.pattern.value
  const inPath = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => {
    const field = method.input.fields.find((field) => field.name === name)
    if (field?.scalar !== ScalarType.STRING)
      throw refuse(`has {${name}} in its path, which is no string of its request`)
    return field.jsonName
  })
  const verb = rule.pattern.case.toUpperCase() as Binding['verb']
  const bareList = method.input.fields.find((field) => shapeOf(field).bare)?.jsonName
  return { method, verb, path, inPath, hasBody: rule.body === '*', bareList }
}
