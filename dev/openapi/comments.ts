import type {
  DescriptorProto,
  EnumDescriptorProto,
  FileDescriptorProto,
  FileDescriptorSet,
} from '@bufbuild/protobuf/wkt'

/** The leading comments of a contract, by the full name of the element they describe: `verdict.v1.SendRequest.to`. */
export type Comments = Map<string, string>

// Field numbers of descriptor.proto, of which a path consists.
const IN_FILE = { message: 4, enum: 5, service: 6 }
const IN_MESSAGE = { field: 2, message: 3, enum: 4 }
const VALUE = 2
const METHOD = 2

export function commentsOf(set: FileDescriptorSet): Comments {
  return new Map(set.file.flatMap((file) => commentsOfFile(file)))
}

function commentsOfFile(file: FileDescriptorProto): [string, string][] {
  const names = namesOf(file)
  return (file.sourceCodeInfo?.location ?? []).flatMap(({ path, leadingComments }) => {
    const name = names.get(path.join())
    return name && leadingComments ? [[name, tidy(leadingComments)]] : []
  })
}

/** Joins the lines of each paragraph. An empty line separates paragraphs. */
function tidy(comment: string): string {
  const paragraphs = comment.split(/\n\s*\n/)
  return paragraphs
    .map((paragraph) =>
      paragraph
        .split('\n')
        .map((line) => line.trim())
        .join(' ')
        .trim(),
    )
    .join('\n\n')
}

/** Full names, by path in the descriptor of their file. */
function namesOf(file: FileDescriptorProto): Map<string, string> {
  const names = new Map<string, string>()
  const add = (path: number[], name: string) => names.set(path.join(), name)

  const addEnum = (desc: EnumDescriptorProto, path: number[], scope: string) => {
    add(path, `${scope}.${desc.name}`)
    for (const [i, value] of desc.value.entries()) add([...path, VALUE, i], `${scope}.${desc.name}.${value.name}`)
  }
  const addMessage = (desc: DescriptorProto, path: number[], scope: string) => {
    const name = `${scope}.${desc.name}`
    add(path, name)
    for (const [i, field] of desc.field.entries()) add([...path, IN_MESSAGE.field, i], `${name}.${field.name}`)
    for (const [i, nested] of desc.nestedType.entries()) addMessage(nested, [...path, IN_MESSAGE.message, i], name)
    for (const [i, nested] of desc.enumType.entries()) addEnum(nested, [...path, IN_MESSAGE.enum, i], name)
  }
  for (const [i, desc] of file.messageType.entries()) addMessage(desc, [IN_FILE.message, i], file.package)
  for (const [i, desc] of file.enumType.entries()) addEnum(desc, [IN_FILE.enum, i], file.package)
  for (const [i, service] of file.service.entries()) {
    const name = `${file.package}.${service.name}`
    add([IN_FILE.service, i], name)
    for (const [j, method] of service.method.entries()) add([IN_FILE.service, i, METHOD, j], `${name}.${method.name}`)
  }
  return names
}
