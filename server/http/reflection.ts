import { createRegistry, type DescFile, type DescService, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Code, createServiceImplSpec, type ServiceImplSpec } from '@connectrpc/connect'
import { type ServerReflectionRequest, ServerReflection as V1 } from '../../gen/grpc/reflection/v1/reflection_pb.ts'
import { ServerReflection as V1Alpha } from '../../gen/grpc/reflection/v1alpha/reflection_pb.ts'

type Asked = ServerReflectionRequest['messageRequest']

/** Server reflection in both of its versions, for the services given and for itself. */
export function reflectionServices(services: DescService[]): ServiceImplSpec[] {
  const answer = answers([...services, V1, V1Alpha])
  async function* serverReflectionInfo(requests: AsyncIterable<ServerReflectionRequest>) {
    for await (const originalRequest of requests) {
      const messageResponse = answer(originalRequest.messageRequest)
      yield { validHost: originalRequest.host, originalRequest, messageResponse }
    }
  }
  // The versions differ in nothing but their names, which are part of the types.
  return [V1, V1Alpha].map((version) => createServiceImplSpec<typeof V1>(version, { serverReflectionInfo }))
}

function answers(services: DescService[]) {
  const files = withDependencies(services.map((service) => service.file))
  const byName = new Map(files.map((file) => [file.proto.name, file]))
  const registry = createRegistry(...files)
  const extensions = [...registry].filter((type) => type.kind === 'extension')

  function fileOfSymbol(symbol: string): DescFile | undefined {
    const parent = symbol.slice(0, symbol.lastIndexOf('.'))
    const type = registry.get(symbol) ?? registry.get(parent)
    return type && 'file' in type ? type.file : undefined
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

function said<Case extends string, Value>(name: Case, value: Value) {
  return { case: name, value }
}

function found(file: DescFile | undefined, asked: string) {
  if (!file) return missing(asked)
  const fileDescriptorProto = withDependencies([file]).map((file) => toBinary(FileDescriptorProtoSchema, file.proto))
  return said('fileDescriptorResponse', { fileDescriptorProto })
}

const missing = (asked: string) =>
  said('errorResponse', { errorCode: Code.NotFound, errorMessage: `there is no ${asked.slice(0, 200)}` })

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
