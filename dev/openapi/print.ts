import { readFileSync } from 'node:fs'
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
import packageJson from '../../package.json' with { type: 'json' }
import { commentsOf } from './comments.ts'
import { openApiDocument } from './document.ts'

// Prints the content of `docs/openapi.json`. The argument is the compiled contract with its comments, which generated
// code omits. It runs as a separate process, because it imports code that may just have been generated.

/** The services with REST routes, in the order of the document. */
const SERVICES = [
  EmailService,
  ReceiptService,
  EventService,
  WebhookService,
  DomainService,
  StatsService,
  SuppressionService,
  LimitsService,
]

const contract = fromBinary(FileDescriptorSetSchema, readFileSync(process.argv[2]!))
console.log(JSON.stringify(openApiDocument(SERVICES, commentsOf(contract), packageJson.version), null, 2))
