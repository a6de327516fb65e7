import { setTimeout as pause } from 'node:timers/promises'
import { createRegistry, type DescFile, type DescService, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import {
  Code,
  type ContextValues,
  createServiceImplSpec,
  type HandlerContext,
  type ServiceImplSpec,
} from '@connectrpc/connect'
import { file_google_rpc_error_details } from '../../../gen/google/rpc/error_details_pb.ts'
import { type ServerReflectionRequest, ServerReflection as V1 } from '../../../gen/grpc/reflection/v1/reflection_pb.ts'
import { ServerReflection as V1Alpha } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts'
import { createPauseQueue } from '../../async/pause-queue.ts'
import { fail } from '../../errors.ts'

type ReflectionQuery = ServerReflectionRequest['messageRequest']

/** Errors carry these inside `Any`. No method names them, but a client that reads an error requests them. */
const ERROR_DETAILS = [file_google_rpc_error_details]

/** How long a stream may last, and how many bytes of files it may receive. All our files together are about 60 KB. */
const STREAM_MS = 60_000
const STREAM_FILE_BYTES = 2 ** 19
/**
 * All streams together get one response in this time: thousands of requests may arrive at once, and each takes 0.3 ms.
 */
const TURN_MS = 5

/**
 * Server reflection in both versions, for the given services and for itself. `count` is called before each response,
 * and throws when the caller has used up its requests.
 */
export function createReflectionServices(
  services: DescService[],
  count: (values: ContextValues) => void,
): ServiceImplSpec[] {
  const createResponder = responders([...services, V1, V1Alpha])
  const nextTurn = createPauseQueue(() => pause(TURN_MS))
  async function* serverReflectionInfo(requests: AsyncIterable<ServerReflectionRequest>, { values }: HandlerContext) {
    const respond = createResponder()
    for await (const originalRequest of within(STREAM_MS, requests)) {
      count(values)
      await nextTurn()
      const messageResponse = respond(originalRequest.messageRequest)
      yield { validHost: originalRequest.host, originalRequest, messageResponse }
    }
  }
  // The versions differ only in their names, which are part of the types.
  return [V1, V1Alpha].map((version) => createServiceImplSpec<typeof V1>(version, { serverReflectionInfo }))
}

/** The requests that arrive within a time, after which the stream counts as ended. */
async function* within<Request>(ms: number, requests: AsyncIterable<Request>): AsyncGenerator<Request> {
  const iterator = requests[Symbol.asyncIterator]()
  const { promise: over, resolve } = Promise.withResolvers<IteratorReturnResult<undefined>>()
  const timer = setTimeout(resolve, ms, { done: true, value: undefined })
  try {
    for (;;) {
      const { done, value } = await Promise.race([iterator.next(), over])
      if (done) return
      yield value
    }
  } finally {
    clearTimeout(timer)
  }
}

function responders(services: DescService[]) {
  const files = withDependencies([...services.map((service) => service.file), ...ERROR_DETAILS])
  const bytesOf = new Map(files.map((file) => [file, toBinary(FileDescriptorProtoSchema, file.proto)]))
  const byName = new Map(files.map((file) => [file.proto.name, file]))
  const registry = createRegistry(...files)
  const extensions = [...registry].filter((type) => type.kind === 'extension')

  function fileOfSymbol(symbol: string): DescFile | undefined {
    const parent = symbol.slice(0, symbol.lastIndexOf('.'))
    const type = registry.get(symbol) ?? registry.get(parent)
    return type && 'file' in type ? type.file : undefined
  }

  /** Responds to one stream. As the protocol allows, a file that others import is sent once. */
  return () => {
    const sent = new Set<DescFile>()
    let sentBytes = 0

    function sendFile(file: DescFile | undefined, name: string) {
      if (!file) return missing(name)
      const fresh = withDependencies([file]).filter((one) => one === file || !sent.has(one))
      const fileDescriptorProto = fresh.map((one) => bytesOf.get(one)!)
      for (const one of fresh) sent.add(one)
      for (const { length } of fileDescriptorProto) sentBytes += length
      if (sentBytes > STREAM_FILE_BYTES) throw usedUp()
      return response('fileDescriptorResponse', { fileDescriptorProto })
    }

    return (question: ReflectionQuery) => {
      switch (question.case) {
        case 'listServices':
          return response('listServicesResponse', { service: services.map(({ typeName }) => ({ name: typeName })) })
        case 'fileByFilename':
          return sendFile(byName.get(question.value), question.value)
        case 'fileContainingSymbol':
          return sendFile(fileOfSymbol(question.value), question.value)
        case 'fileContainingExtension': {
          const { containingType, extensionNumber } = question.value
          const number = `${containingType} ${extensionNumber}`
          return sendFile(extensions.find((one) => `${one.extendee.typeName} ${one.number}` === number)?.file, number)
        }
        case 'allExtensionNumbersOfType': {
          const extending = extensions.filter((one) => one.extendee.typeName === question.value)
          const extensionNumber = extending.map((one) => one.number)
          if (!registry.getMessage(question.value)) return missing(question.value)
          return response('allExtensionNumbersResponse', { baseTypeName: question.value, extensionNumber })
        }
        default:
          return response('errorResponse', { errorCode: Code.InvalidArgument, errorMessage: 'nothing was asked' })
      }
    }
  }
}

function response<Case extends string, Value>(name: Case, value: Value) {
  return { case: name, value }
}

const missing = (name: string) =>
  response('errorResponse', { errorCode: Code.NotFound, errorMessage: `there is no ${name.slice(0, 200)}` })

const usedUp = () =>
  fail('rate_limit_exceeded', `This stream has been answered ${STREAM_FILE_BYTES / 2 ** 10} KiB. Open another one.`, {
    retryAfterSeconds: 1,
  })

/** Files and all their imports, each before the files it imports. */
function withDependencies(files: readonly DescFile[]): DescFile[] {
  const all = new Set<DescFile>()
  const add = (file: DescFile) => {
    if (all.has(file)) return
    all.add(file)
    file.dependencies.forEach(add)
  }
  files.forEach(add)
  return [...all]
}
