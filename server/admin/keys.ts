import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  ApiKeySchema,
  type CreateKeyRequest,
  type KeyService,
  type ApiKey as Message,
} from '../../gen/verdict/admin/v1/keys_pb.ts'
import { nameFault } from '../../net/clean-text.ts'
import type { KeyKind } from '../access/api-key.ts'
import { type ApiKey, createKey, listKeys, revokeKey, scopesRefused } from '../access/api-keys.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { SCOPES_OF } from '../access/scopes.ts'
import { accountOf } from '../caller.ts'
import { parsePublicId, publicId } from '../db/ids.ts'
import { type FieldFault, fail, failFields } from '../errors.ts'
import type { Backend } from '../services/backend.ts'
import { readTime } from '../services/listing/times.ts'

const NAME_CHARACTERS = 100

export function createKeyService({ db, clock }: Pick<Backend, 'db' | 'clock'>): ServiceImpl<typeof KeyService> {
  return {
    async listKeys(_, context) {
      const keys = await listKeys(db, accountOf(context))
      const { live, test } = SCOPES_OF
      return { keys: keys.reverse().map(keyMessage), liveScopes: [...live], testScopes: [...test] }
    },

    async createKey(request, context) {
      const requester = requesterOf(context.values)
      const newKey = readNewKey(request, clock.now())
      const { key, apiKey } = await createKey(db, clock, { accountId: requester.accountId, ...newKey, requester })
      return { key, apiKey: keyMessage(apiKey) }
    },

    async revokeKey({ keyId }, context) {
      const requester = requesterOf(context.values)
      const id = parsePublicId('key', keyId)
      const apiKey = id && (await revokeKey(db, requester.accountId, id, requester))
      if (apiKey) return { apiKey: keyMessage(apiKey) }
      throw fail('not_found', 'There is no such key in this account.')
    },
  }
}

function readNewKey(request: CreateKeyRequest, nowMs: number) {
  const name = request.name.trim()
  const kind = request.test ? ('test' as const) : ('live' as const)
  const scopes = [...new Set(request.scopes)]
  const expiresMs = readTime('expires_at', request.expiresAt)
  const faults: (FieldFault | undefined)[] = [
    faultOf('name', name === '' ? 'is required' : nameFault(name, NAME_CHARACTERS)),
    faultOf('scopes', scopesFault(kind, scopes)),
    faultOf('expires_at', expiresMs !== undefined && expiresMs <= nowMs ? 'must be in the future' : undefined),
  ]
  const found = faults.filter((fault) => fault !== undefined)
  if (found.length > 0) throw failFields('invalid_payload', found)
  return { name, kind, scopes, expiresAt: expiresMs === undefined ? undefined : new Date(expiresMs) }
}

const faultOf = (field: string, message: string | undefined) => (message === undefined ? undefined : { field, message })

function scopesFault(kind: KeyKind, scopes: string[]): string | undefined {
  if (scopes.length === 0) return 'must name at least one scope'
  const refused = scopesRefused(kind, scopes)
  return refused && `are not all allowed. ${refused.replace(/\.$/, '')}`
}

/** A key as the contract shows it. */
export function keyMessage(key: ApiKey): Message {
  const time = (date: Date | null) => (date ? timestampFromDate(date) : undefined)
  return create(ApiKeySchema, {
    keyId: publicId('key', key.id),
    name: key.name,
    hint: key.hint,
    test: key.test,
    scopes: key.scopes,
    createdAt: time(key.createdAt),
    expiresAt: time(key.expiresAt),
    lastUsedAt: time(key.lastUsedAt),
    revokedAt: time(key.revokedAt),
    createdBy: key.createdBy === null ? undefined : publicId('per', key.createdBy),
  })
}
