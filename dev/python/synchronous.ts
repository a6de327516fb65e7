import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What differs in the synchronous client. The longer text first, where one is part of another. */
const REPLACED: [asynchronous: string | RegExp, synchronous: string][] = [
  [/^"""The asynchronous client\. .*"""$/gm, '"""The synchronous client."""'],
  ['await anyio.sleep', 'time.sleep'],
  ['import anyio\nimport httpx', 'import httpx'],
  ['import anyio\n\n', ''],
  ['httpx.AsyncClient', 'httpx.Client'],
  ['_http.aclose', '_http.close'],
  ['__aenter__', '__enter__'],
  ['__aexit__', '__exit__'],
  [/\bAwaitable\[(\w+)\]/g, '$1'],
  [/\bAsyncIterator, Awaitable, Callable, Mapping\b/g, 'Callable, Iterator, Mapping'],
  [/\bAsyncIterator\b/g, 'Iterator'],
  [/\basync_items\b/g, 'items_of'],
  [/\bAsync([A-Z]\w*)/g, '$1'],
  [/\basync def\b/g, 'def'],
  [/\bawait /g, ''],
]

/**
 * The files of the Python client's `_sync`, made from those of `_async` by replacing words: one half is written, so the
 * two cannot differ.
 */
export async function synchronousFiles(folder: string): Promise<Map<string, string>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.py'))
  const files = names.map(async (name) => [name, synchronous(await readFile(join(folder, name), 'utf8'))] as const)
  return new Map(await Promise.all(files))
}

function synchronous(text: string): string {
  const replaced = REPLACED.reduce((text, [from, to]) => text.replaceAll(from, to), text)
  const sleeps = replaced.includes('time.sleep')
    ? replaced.replace('from collections', 'import time\nfrom collections')
    : replaced
  const [doc, ...rest] = sleeps.split('\n')
  return [doc, '', '# Generated from `_async` by `npm run gen`. Do not edit.', ...rest]
    .join('\n')
    .replace(/\n{4,}$/, '\n')
}
