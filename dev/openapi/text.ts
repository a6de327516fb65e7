import { readFile } from 'node:fs/promises'
import type { FileDescriptorSet } from '@bufbuild/protobuf/wkt'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { commentsOf } from './comments.ts'
import { openApiDocument } from './document.ts'

/** The services of REST, in the order of the document. */
const SERVICES = [EmailService, EventService]

/** The document as `docs/openapi.json` holds it. */
export async function openApiText(contract: FileDescriptorSet): Promise<string> {
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  return `${JSON.stringify(openApiDocument(SERVICES, commentsOf(contract), version), null, 2)}\n`
}
