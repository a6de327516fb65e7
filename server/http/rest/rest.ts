import { create, getOption, type Message } from '@bufbuild/protobuf'
import type { ContextValues, Interceptor, MethodImplSpec, ServiceImplSpec } from '@connectrpc/connect'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { list_hint } from '../../../gen/verdict/v1/options_pb.ts'
import { itemFaultsKey } from '../../caller.ts'
import { fail } from '../../errors.ts'
import type { Admit } from '../admission.ts'
import { type BodyLimits, beginWork, readBody } from '../body/body.ts'
import { refuseContents } from '../body/deferred-refusal.ts'
import { noFaults, refusal } from '../body/faults.ts'
import type { Call } from '../call.ts'
import { InProcessRequest, implementationOf, inProcess } from '../rpc/in-process.ts'
import { type Binding, bindingsOf } from './bindings.ts'
import { readJson } from './json-body.ts'
import { createMessageReader, isObject, readJsonMessage } from './json-reader.ts'
import { createMessageWriter, writeMessage } from './json-writer.ts'
import { routeOf } from './other-methods.ts'
import { queryFields, readQuery } from './query-parameters.ts'

export interface ProtocolParts {
  services: ServiceImplSpec[]
  interceptors: Interceptor[]
  limits: BodyLimits
  admit: Admit
  /** Called with what could be read of a request with a fault. A field with a fault may have no value. */
  onRefused?(values: ContextValues, message: Message): void
}

/** A route for every method with an http rule. Throws for a contract that REST cannot serve. */
export async function restRoutes(
  fastify: FastifyInstance,
  { services, interceptors, limits, admit, onRefused }: ProtocolParts,
): Promise<void> {
  for (const binding of bindingsOf(services.map(({ service }) => service))) {
    const { method, verb, path } = binding
    fastify.route({
      method: verb,
      url: routeOf(path),
      onRequest: ({ call }) => {
        call.path = path
        call.method = method
        return admit(call)
      },
      handler: restHandler(binding, implementationOf(services, method), { interceptors, limits, onRefused }),
    })
  }
}

/** One JSON tree, one message, the implementation called in process, one JSON response. */
function restHandler(
  binding: Binding,
  spec: MethodImplSpec,
  { interceptors, ...parts }: Pick<ProtocolParts, 'interceptors' | 'limits' | 'onRefused'>,
) {
  const { method, invoke } = inProcess(spec, interceptors)
  createMessageReader(method.input)
  createMessageWriter(method.output)
  const readRequest = requestReader(binding, parts)

  return async ({ call, params }: FastifyRequest, reply: FastifyReply) => {
    const request = new InProcessRequest(method, call, await readRequest(call, params as Record<string, string>))
    const output = await invoke(request)
    if (call.left) return void reply.hijack()
    const { headers } = request
    if (headers) reply.headers(headers)
    return writeMessage(method.output, output)
  }
}

/** A function of its own, so that the JSON is free while the implementation works. */
function requestReader(binding: Binding, { limits, onRefused }: Pick<ProtocolParts, 'limits' | 'onRefused'>) {
  const { method, verb, inPath, hasBody } = binding
  const query = hasBody ? new Map() : queryFields(method.input, inPath)
  return async (call: Call, params: Record<string, string>): Promise<Message> => {
    if (verb === 'GET') await beginWork(call, limits)
    const parameters = readQuery(query, call.raw.url ?? '')
    if (!hasBody && verb !== 'GET') await refuseBody(call, limits)
    const { message, faults, fault } = readMessage(binding, hasBody ? await readJson(call, limits) : parameters, params)
    if (fault) {
      onRefused?.(call.values, message)
      refuseContents(fault, method, call.values, call.raw.headers['idempotency-key'] !== undefined)
    }
    if (faults.items.size > 0) call.values.set(itemFaultsKey, faults.items)
    return fault ? create(method.input) : message
  }
}

/** The caller may rely on a body that is not read: a removal for one tenant would become a removal for all. */
async function refuseBody(call: Call, limits: BodyLimits): Promise<void> {
  const body = (await readBody(call, limits)).toString('latin1').trim()
  if (body === '' || body === '{}') return
  throw fail('invalid_payload', 'This method takes no body. Its parameters stand in the path and in the query string.')
}

/** The message of a request; with a fault, what of it could be read. */
function readMessage({ method, inPath, bareList }: Binding, json: unknown, params: Record<string, string>) {
  const tree = bareList && Array.isArray(json) ? { [bareList]: json } : json
  if (!isObject(tree)) {
    const hint = Array.isArray(json) && getOption(method.input, list_hint)
    const must = `The body must be a JSON object${bareList ? ` or the list ${bareList}` : ''}.`
    const fault = fail('invalid_payload', hint ? `${must} ${hint}` : must)
    return { message: create(method.input), faults: noFaults(), fault }
  }
  for (const name of inPath) {
    if (name in tree) throw refusal({ fields: [{ field: name, message: 'is given by the path' }], unlisted: 0 })
    tree[name] = params[name]
  }
  const { message, faults } = readJsonMessage(method.input, tree)
  return { message, faults, fault: faults.fields.length === 0 ? undefined : refusal(faults) }
}
