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
import { file_google_rpc_error_details } from '../../gen/google/rpc/error_details_pb.ts'
import { type ServerReflectionRequest, ServerReflection as V1 } from '../../gen/grpc/reflection/v1/reflection_pb.ts'
import { ServerReflection as V1Alpha } from '../../gen/grpc/reflection/v1alpha/reflection_pb.ts'
import { fail } from '../errors.ts'
import { createTurns } from '../turns.ts'

type Asked = ServerReflectionRequest['messageRequest']

/** Errors carry these inside of `Any`: no method names them, and who reads an error asks for them. */
const ERROR_DETAILS = [file_google_rpc_error_details]

/** How long a stream may last, and how many bytes of files it is answered. All our files together are about 60 KB. */
const STREAM_MS = 60_000
const STREAM_ANSWER_BYTES = 2 ** 19
/** Thousands of questions may arrive together, and each takes a third of a millisecond: all streams get one answer in this time. */
const TURN_MS = 5

/**
 * Server reflection in both of its versions, for the services given and for itself. `count` is asked before each answer and throws
 * when its caller may ask no more.
 */
export function reflectionServices(services: DescService[], count: (values: ContextValues) => void): ServiceImplSpec[] {
  const answersOf = answers([...services, V1, V1Alpha])
  const nextTurn = createTurns(() => pause(TURN_MS))
  async function* serverReflectionInfo(requests: AsyncIterable<ServerReflectionRequest>, { values }: HandlerContext) {
    const answer = answersOf()
    for await (const originalRequest of within(STREAM_MS, requests)) {
      count(values)
      await nextTurn()
      const messageResponse = answer(originalRequest.messageRequest)
      yield { validHost: originalRequest.host, originalRequest, messageResponse }
    }
  }
  // The versions differ in nothing but their names, which are part of the types.
  return [V1, V1Alpha].map((version) => createServiceImplSpec<typeof V1>(version, { serverReflectionInfo }))
}

/** The requests that come within a time, after which the stream counts as ended. */
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

function answers(services: DescService[]) {
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

  /** The answers of one stream. As the protocol allows, a file that others import is sent once. */
  return () => {
    const sent = new Set<DescFile>()
    let sentBytes = 0

    function found(file: DescFile | undefined, asked: string) {
      if (!file) return missing(asked)
      const fresh = withDependencies([file]).filter((one) => one === file || !sent.has(one))
      const fileDescriptorProto = fresh.map((one) => bytesOf.get(one)!)
      for (const one of fresh) sent.add(one)
      for (const { length } of fileDescriptorProto) sentBytes += length
      if (sentBytes > STREAM_ANSWER_BYTES) throw answeredEnough()
      return said('fileDescriptorResponse', { fileDescriptorProto })
    }

    return (asked: Asked) => {
      switch (asked.case) {
        case 'listServices':
          return said('listServicesResponse', { service: services.map(({ typeName }) => ({ name: typeName })) })
        case 'fileByFilename':
          return found(byName.get(asked.value), asked.value)
        case 'fileContainingSymbol':
          return found(fileOfSymbol(asked.value), asked.value)
        case 'fileContainingExtension': {
          const { containingType, extensionNumber } = asked.value
          const number = `${containingType} ${extensionNumber}`
          return found(extensions.find((one) => `${one.extendee.typeName} ${one.number}` === number)?.file, number)
        }
        case 'allExtensionNumbersOfType': {
          const of = extensions.filter((one) => one.extendee.typeName === asked.value)
          const extensionNumber = of.map((one) => one.number)
          if (!registry.getMessage(asked.value)) return missing(asked.value)
          return said('allExtensionNumbersResponse', { baseTypeName: asked.value, extensionNumber })
        }
        default:
          return said('errorResponse', { errorCode: Code.InvalidArgument, errorMessage: 'nothing was asked' })
      }
    }
  }
}

function said<Case extends string, Value>(name: Case, value: Value) {
  return { case: name, value }
}

const missing = (asked: string) =>
  said('errorResponse', { errorCode: Code.NotFound, errorMessage: `there is no ${asked.slice(0, 200)}` })

const answeredEnough = () =>
  fail('rate_limit_exceeded', `This stream has been answered ${STREAM_ANSWER_BYTES / 2 ** 10} KiB. Open another one.`, {
    retryAfterSeconds: 1,
  })

/** Files and all they import, the importing one first. */
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
