import type { ServerResponse } from 'node:http'
import type { DescMethod } from '@bufbuild/protobuf'
import { fail } from '../errors.ts'
import { answerError } from './answer.ts'
import type { Call } from './call.ts'

/** Lets a call in, or throws, before its body is read. */
export type Admit = (call: Call) => Promise<void>

/** Answers a call. What it throws is answered as an error. */
export type Handler = (call: Call, params: Record<string, string>) => Promise<void>

export interface Endpoint {
  method?: DescMethod
  admit?: Admit
  handler: Handler
}

export interface Path {
  /** As in the contract, `/api/v1/emails/{id}`. */
  path: string
  /** By method of HTTP. */
  verbs: Record<string, Endpoint>
}

export function allowedOf(verbs: Path['verbs']): string[] {
  return [...Object.keys(verbs), ...(verbs.GET ? ['HEAD'] : []), 'OPTIONS']
}

/** Answers a method that a path does not have, and OPTIONS. */
export function otherMethods(verbs: Path['verbs']): Handler {
  const allow = allowedOf(verbs).join(', ')
  return async (call) => {
    if (call.raw.method !== 'OPTIONS') {
      return answerError(fail('method_not_allowed', `This path takes ${allow}.`), call, { allow })
    }
    const response = call.response as ServerResponse
    response.writeHead(204, { allow, ...call.headers }).end()
  }
}

/** Answers where the router has no route: methods it was told nothing of, and paths that do not exist. */
export function notFound(paths: Path[]): Handler {
  const known = paths.map(({ path, verbs }) => ({
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[^}]*\}/g, '[^/]+')}$`),
    refuse: otherMethods(verbs),
  }))
  return async (call) => {
    const path = call.raw.url!.split('?', 1)[0]!
    const match = known.find(({ pattern }) => pattern.test(path))
    if (match) return match.refuse(call, {})
    answerError(fail('not_found', 'There is nothing at this path. See /docs for those there are.'), call)
  }
}
