import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// Every collection of the service that starts empty and is filled while it runs, and what bounds its memory. What a
// caller, a mail server or a DNS server wrote outlives its call only in the maps of `net/bounded-map.ts`, and as a
// hash in `server/access/windows.ts`. `bounded-memory.release.test.ts` floods them.
const BOUNDED_BY: Record<string, Record<string, string[]>> = {
  'a number of entries and of characters': {
    'cli/mcp/approval.ts': ['taken'],
    'server/access/windows.ts': ['windows'],
    'net/bounded-map.ts': ['entries'],
    'server/simulator/inbox.ts': ['kept'],
    'server/telemetry/instruments.ts': ['points'],
    'server/webhooks/queue/attempt-queues.ts': ['queues', 'ready'],
  },
  'the limits of connections and their streams': {
    'server/db/primary.ts': ['sockets'],
    'server/http/listener/connection-limit.ts': ['awaited', 'open', 'requests'],
    'server/http/listener/http1.ts': ['connections'],
    'server/http/listener/http2.ts': ['onNewStream', 'open', 'streams'],
    'server/http/listener/listen.ts': ['open'],
    'server/http/rpc/streams-of-connection.ts': ['open'],
    'server/http/site/readiness.ts': ['followers'],
    'server/inbound/listener.ts': ['addressees'],
    'server/inbound/visitors.ts': ['visitors'],
    'server/smtp-front/clients.ts': ['clients'],
    'mail/smtp/late-replies.ts': ['sessions'],
    'mail/smtp/pool.ts': ['sites'],
    'server/shaping/shared-places.ts': ['sites', 'rows'],
    'server/webhooks/post/connections.ts': ['idle'],
  },
  'the work in flight: an entry leaves with its work': {
    'server/access/identify.ts': ['pendingHashes'],
    'cli/mcp/serve.ts': ['running'],
    'mail/dns/known-domains.ts': ['rounds'],
    'mail/dns/resolver.ts': ['inFlight'],
    'server/domains/verification.ts': ['checks', 'inFlight'],
    'server/http/app.ts': ['inFlight'],
    'server/http/body/byte-budget.ts': ['lines'],
    'server/http/listener/unread-responses.ts': ['before', 'holders', 'now', 'writtenBytes'],
    'server/access/people/fair-queue.ts': ['groups'],
    'server/smtp-front/listener.ts': ['running', 'envelopes'],
    'server/smtp-front/unclaimed.ts': ['mails'],
    'server/sending/sharing.ts': ['running'],
    'server/shaping/book-store.ts': ['after', 'grants'],
    'server/shaping/message-queue.ts': ['waiting'],
    'net/fair-turns.ts': ['atHand'],
    'net/fair-slots.ts': ['queues', 'slotsByKey'],
    'mail/smtp/sts-policies.ts': ['fetching'],
    'net/keyed-amounts.ts': ['amounts'],
    'server/telemetry/track-sends.ts': ['running'],
    'server/db/recording.ts': ['unstored', 'waiting'],
    'server/stream/stream-leases.ts': ['places'],
    'server/stream/rights.ts': ['onLost', 'watched'],
    'server/stream/tail.ts': ['followers', 'groups'],
    'server/webhooks/attempt/attempt-once.ts': ['running'],
    'server/webhooks/queue/dispatcher.ts': ['openWork'],
  },
  'the accounts and keys that exist': {
    'server/access/last-use.ts': ['usedKeyIds', 'usedKeyIds'],
    'server/access/limiter.ts': ['counts', 'placesAhead'],
    // 60 digests of an account a minute, and 100 rows a second in all.
    'server/sending/refused-sends.ts': ['rows', 'rows', 'seen', 'seen', 'unstored', 'unstored'],
  },
  'what the code and the contract name': {
    'server/http/site/built-files.ts': ['files'],
    'server/http/rest/json-reader.ts': ['fields', 'messageReaders'],
    'server/http/rest/json-writer.ts': ['messageWriters'],
    'server/http/rest/other-methods.ts': ['verbsOf'],
    'server/http/rpc/protobuf-bounds.ts': ['fields', 'wireFields'],
    'server/http/rpc/reflection.ts': ['all', 'sent'],
    'server/http/rpc/rpc.ts': ['handlers'],
    'server/http/body/text.ts': ['messageChecks'],
    'server/access/people/access.ts': ['rules'],
    'mail/smtp/shaping.ts': ['shapes'],
    'server/shaping/sources.ts': ['known'],
    'server/telemetry/count-calls.ts': ['names'],
    'server/telemetry/tasks.ts': ['succeededAt'],
  },
  'messages of the inbox, with which their entries leave': {
    'server/admin/inbox-messages.ts': ['accounts'],
    'server/admin/inbox.ts': ['entries'],
  },
  'one call, with whose input it leaves': {
    'server/admin/frame-html.ts': ['urls'],
    'address-files/import-preview.ts': ['seen'],
    'address-files/column.ts': ['counts'],
    'address-files/json.ts': ['members'],
    'address-files/reasons.ts': ['reasons', 'unknown'],
    'address-files/states.ts': ['counts'],
    'server/admin/import-parts.ts': ['reasonOf'],
    'cli/send-options.ts': ['pairs'],
    'server/db/lost-encryption-keys.ts': ['opened', 'unopened'],
    'server/domains/authoritative.ts': ['answers', 'silent'],
    'server/domains/dkim-record.ts': ['tags'],
    'server/erasure/progress.ts': ['blocksBefore'],
    'server/http/body/faults.ts': ['items'],
    'server/http/rest/json-position.ts': ['names'],
    'server/inbound/feedback.ts': ['failures'],
    'server/inbound/notice.ts': ['passages'],
    'server/reputation/standings.ts': ['lastDelivered'],
    'server/sending/message.ts': ['earlierNames'],
    'server/smtp-front/program-fields.ts': ['given'],
    'server/sending/outcome.ts': ['kinds', 'providers'],
    'server/sending/recipients.ts': ['distinct', 'mailboxes'],
    'mail/smtp/dial-host.ts': ['tries'],
    'mail/smtp/engine.ts': ['transactions'],
    'mail/smtp/exchangers.ts': ['first'],
    'mail/smtp/mta-sts.ts': ['fields', 'mx'],
    'mail/mime/delimiters.ts': ['lines'],
    'net/fair-doors.ts': ['byNetwork', 'guests'],
    'mail/mime/raw/read-raw.ts': ['counts'],
    'server/async/transferable.ts': ['found'],
    'mail/smtp/session.ts': ['keywords'],
    'workflows/client.ts': ['ids'],
    'workflows/deliver-webhooks.ts': ['cancelled', 'hastened'],
    'workflows/responses.ts': ['counts'],
    'workflows/troubles.ts': ['current'],
  },
}

const EMPTY = /(\w+)(?:: \w+)? ?[=:] new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\)/g

test('every map and set that is filled while the service runs has a bound', () => {
  const found = globSync('{address-files,net,mail,server,cli,workflows}/**/*.ts').flatMap((file) => {
    const source = readFileSync(file, 'utf8')
    return Array.from(source.matchAll(EMPTY), ([, name]) => `${file} ${name}`)
  })
  const listed = Object.values(BOUNDED_BY).flatMap((files) =>
    Object.entries(files).flatMap(([file, names]) => names.map((name) => `${file} ${name}`)),
  )
  expect(found.sort()).toEqual(listed.sort())
})
