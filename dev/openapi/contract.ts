import { execFileSync } from 'node:child_process'
import { fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { DomainService } from '../../gen/verdict/v1/domains_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import { ReceiptService } from '../../gen/verdict/v1/receipts_pb.ts'
import { StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { WebhookService } from '../../gen/verdict/v1/webhooks_pb.ts'
import { type Comments, commentsOf } from './comments.ts'

/** The services with REST routes, in the order of the document. */
export const SERVICES = [
  EmailService,
  ReceiptService,
  EventService,
  WebhookService,
  DomainService,
  StatsService,
  SuppressionService,
  LimitsService,
]

/** The comments of the contract. It is compiled for them, because generated code omits them. */
export function contractComments(): Comments {
  const compiled = execFileSync('buf', ['build', '--as-file-descriptor-set', '--output', '-#format=binpb'], {
    cwd: new URL('../..', import.meta.url).pathname,
    maxBuffer: 2 ** 26,
  })
  return commentsOf(fromBinary(FileDescriptorSetSchema, compiled))
}
