import { create } from '@bufbuild/protobuf'
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type TroubleKind as ContractKind,
  type ListNotificationsRequest,
  ListNotificationsRequestSchema,
  NotificationChannelSchema,
  NotificationSchema,
  type NotificationService,
  NotificationStateSchema,
  TroubleKindSchema,
} from '../../gen/verdict/admin/v1/notifications_pb.ts'
import { changeAs } from '../access/audit/change-as.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { accountOf } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { and, desc, eq, inArray, lt } from '../db/drizzle.ts'
import { enumNames } from '../db/enum-names.ts'
import { publicId } from '../db/ids.ts'
import { members, notices, people, TROUBLE_KINDS } from '../db/people-schema.ts'
import { run } from '../db/statement.ts'
import { fail, failField } from '../errors.ts'
import { readChoice, storeChoice } from '../notices/choices.ts'
import { createNotificationUrls } from '../notices/notification-urls.ts'
import { CHAT_HEADERS, isTold } from '../notices/send-notices.ts'
import { chatBody, testText } from '../notices/texts.ts'
import { SUBJECT_PREFIXES, TROUBLES, type Trouble, type TroubleKind } from '../notices/troubles.ts'
import { shownEnd } from '../services/attempt-outcomes.ts'
import type { Backend } from '../services/backend.ts'
import { readUrl, type UrlFaultOf } from '../services/endpoint-fields.ts'
import { pageOf, readCursor, readLimit } from '../services/listing/pages.ts'
import type { Post, PostResult } from '../webhooks/post/post.ts'
import { personOf } from './person.ts'

const kindNames = enumNames(TroubleKindSchema)
const channelNames = enumNames(NotificationChannelSchema)
export const noticeStateNames = enumNames(NotificationStateSchema)

export interface NotificationServiceParts extends Pick<Backend, 'db' | 'sealer' | 'publicUrl' | 'notifyFrom'> {
  webhooks: { post: Post; urls: { faultOf: UrlFaultOf } }
}

export function createNotificationService(parts: NotificationServiceParts): ServiceImpl<typeof NotificationService> {
  const { db, notifyFrom, webhooks } = parts
  const urls = createNotificationUrls(parts)
  return {
    async listTroubles(_, context) {
      const troubles = await run<Trouble>(db, TROUBLES, [accountOf(context)])
      return { troubles: troubles.map(shownTrouble) }
    },

    listNotifications: (request, context) => listNotifications(db, request, accountOf(context)),
    async getNotificationSettings(_, context) {
      const whose = whoseOf(context)
      const [kinds, url] = await Promise.all([readChoice(db, whose), urls.find(whose.accountId)])
      const urlSetAt = url && timestampFromDate(url.createdAt)
      return { mails: kinds.map(kindNames.value), mailFrom: notifyFrom, urlOrigin: url?.origin, urlSetAt }
    },
    async setNotificationMails({ mails }, context) {
      const whose = whoseOf(context)
      const kinds = [...new Set(mails.map(readKind))]
      await changeAs(db, requesterOf(context.values), (tx) => storeChoice(tx, whose, kinds))
      return {}
    },
    async setNotificationUrl(request, context) {
      const url = readUrl(request.url, webhooks.urls.faultOf)
      await urls.set(accountOf(context), url, requesterOf(context.values))
      return { urlOrigin: new URL(url).origin }
    },
    async removeNotificationUrl(_, context) {
      await urls.set(accountOf(context), undefined, requesterOf(context.values))
      return {}
    },
    async testNotificationUrl(_, context) {
      const url = await urls.open(accountOf(context))
      if (url === undefined) throw fail('not_found', 'This account has no notification URL. Set one first.')
      return testUrl(parts, url, context)
    },
  }
}

async function listNotifications(db: Database, request: ListNotificationsRequest, accountId: string) {
  const limit = readLimit(request.limit)
  const after = readCursor(ListNotificationsRequestSchema, request)
  const rows = await db
    .select({ id: notices.id, notice: notices, name: people.name })
    .from(notices)
    .leftJoin(members, and(eq(members.accountId, accountId), eq(members.personId, notices.personId)))
    .leftJoin(people, eq(people.id, members.personId))
    .where(
      and(
        eq(notices.accountId, accountId),
        inArray(notices.kind, [...TROUBLE_KINDS]),
        after === undefined ? undefined : lt(notices.id, after),
      ),
    )
    .orderBy(desc(notices.id))
    .limit(limit + 1)
  const { page, nextCursor } = pageOf(rows, limit, ListNotificationsRequestSchema, request)
  return { notifications: page.map(({ notice, name }) => shownNotice(notice, name)), nextCursor }
}

async function testUrl({ webhooks, publicUrl }: NotificationServiceParts, url: string, context: HandlerContext) {
  const startedMs = performance.now()
  const sender = { accountId: accountOf(context), signal: context.signal }
  const result = await webhooks.post(url, CHAT_HEADERS, chatBody([testText(publicUrl())]), sender)
  if (!result)
    throw fail(
      'transient_failure',
      'No connection to this host is free, or the service cannot make one now. Try again in a moment.',
    )
  return { ...shownTest(result), durationMs: Math.round(performance.now() - startedMs) }
}

const whoseOf = (context: HandlerContext) => ({ accountId: accountOf(context), personId: personOf(context).personId })

function readKind(kind: ContractKind): TroubleKind {
  if (kindNames.has(kind)) return kindNames.name(kind) as TroubleKind
  throw failField('mails', `must be among ${TROUBLE_KINDS.join(', ')}`)
}

function shownTrouble({ kind, subject, subjectId, sinceMs }: Trouble) {
  return {
    kind: kindNames.value(kind),
    subject,
    since: timestampFromMs(sinceMs),
    subjectId: publicId(SUBJECT_PREFIXES[kind], subjectId),
  }
}

function shownNotice(row: typeof notices.$inferSelect, personName: string | null) {
  const { id, createdAt, kind, isOver, subject, channel, state, outcome, endedAt, dueAt } = row
  return create(NotificationSchema, {
    notificationId: publicId('ntc', id),
    createdAt: timestampFromDate(createdAt),
    kind: kindNames.value(kind),
    over: isOver,
    subject,
    channel: channelNames.value(channel),
    personName: personName ?? undefined,
    state: noticeStateNames.value(state),
    outcome: outcome ?? undefined,
    endedAt: endedAt ? timestampFromDate(endedAt) : undefined,
    nextTryAt: state === 'waiting' ? timestampFromDate(dueAt) : undefined,
  })
}

function shownTest(result: PostResult) {
  const { statusCode, responseExcerpt, detail } = shownEnd(result)
  const taken = isTold(result)
  return {
    taken,
    statusCode,
    responseExcerpt,
    detail: taken ? undefined : statusCode === undefined ? detail : `The URL responded with ${statusCode}.`,
  }
}
