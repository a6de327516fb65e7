import { type DescMessage, fromJson, type JsonValue, type MessageShape } from '@bufbuild/protobuf'

/** During an upgrade a later version of this service may store fields that this one lacks. */
const OF_ANY_VERSION = { ignoreUnknownFields: true }

/** Reads a message from a JSON column; undefined for null. */
export function readStored<Desc extends DescMessage>(desc: Desc, json: JsonValue): MessageShape<Desc> | undefined {
  return json === null ? undefined : fromJson(desc, json, OF_ANY_VERSION)
}
