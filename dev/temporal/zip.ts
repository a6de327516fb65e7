import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'

const END_OF_DIRECTORY = Buffer.from('PK\x05\x06')
const DEFLATED = 8

/**
 * Unpacks those files of a ZIP archive whose names begin with `prefix`, without it, into `folder`. For archives whose content is known:
 * it neither guards against odd names nor knows ZIP64, encryption or methods but "stored" and "deflated" (APPNOTE.TXT 4.3).
 */
export async function unzip(
  zip: Buffer,
  prefix: string,
  folder: string,
  mode: (path: string) => number,
): Promise<void> {
  for (const { name, deflated, bytes } of entries(zip)) {
    if (!name.startsWith(prefix) || name.endsWith('/')) continue
    const path = name.slice(prefix.length)
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), deflated ? await promisify(inflateRaw)(bytes) : bytes, { mode: mode(path) })
  }
}

function* entries(zip: Buffer): Generator<{ name: string; deflated: boolean; bytes: Buffer }> {
  const end = zip.lastIndexOf(END_OF_DIRECTORY)
  let at = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) => zip.readUInt16LE(at + field))
    const local = zip.readUInt32LE(at + 42)
    const begin = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
    yield {
      name: zip.toString('utf8', at + 46, at + 46 + nameLength!),
      deflated: zip.readUInt16LE(at + 10) === DEFLATED,
      bytes: zip.subarray(begin, begin + zip.readUInt32LE(at + 20)),
    }
    at += 46 + nameLength! + extraLength! + commentLength!
  }
}
