import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { Option } from '@commander-js/extra-typings'
import type { AddressLine } from '../address-files/address-list.ts'
import { type Invalid, invalidOf } from '../address-files/import-preview.ts'
import { leaveOut } from '../address-files/own-domains.ts'
import { matchingFormOf } from '../mail/address.ts'
import { REQUEST_LIMITS } from '../server/config/limits.ts'
import { newId, publicId } from '../server/db/ids.ts'
import { SUPPRESSION_REASONS } from './choices.ts'
import { CliError, command, type Output, type Print } from './command.ts'
import { conditionsOf, describeUnderstood, readList, type Understood, understoodOf } from './import-list.ts'
import { describePreview, previewOf } from './import-preview.ts'
import { type ImportCounts, type ImportResponse, invalidText } from './import-response.ts'
import { callApi, callPatiently, urlOption } from './service.ts'

/** How many invalid lines the text output lists. `--json` lists all of them. */
const LISTED_ERRORS = 20

/** The sum of all responses so far, with line numbers. */
type ImportResult = ImportCounts & { import_id: string; errors: Invalid[]; understood: Understood }

export const importCommand = (print: Print) =>
  command(
    'import',
    'verdict import unsubscribed.csv --reason complaint',
    'verdict import bounces.csv --reason bounce --column email',
    'verdict import events.csv --where "Status=Hard bounce,Blocked" --dry-run',
    'verdict import suppressions.csv --reason-column Type',
    'cut -f2 export.tsv | verdict import - --tenant shop-1',
  )
    .summary('Import addresses into the suppression list')
    .description(
      'Import addresses into the suppression list: one address a line, a column of a CSV file, or JSON, as other ' +
        'services export it. The heading of its column names the addresses. A file with states in which mail arrives ' +
        'needs --where or --all. Use - to read standard input. Invalid lines are skipped and listed, and the exit code ' +
        'is then 1. A file that is refused imports nothing, with exit code 2.',
    )
    .argument('<file>')
    .option('--column <column>', 'The name or the number of the column that has the addresses')
    .option(
      '--where <column=values>',
      'Only rows whose column has one of these values, with commas between them; repeated: all must hold',
      conditionsOf,
    )
    .option('--all', 'All rows, also those that say that a mailbox takes mail')
    .addOption(
      new Option('--reason <reason>', 'Why they are suppressed').choices(SUPPRESSION_REASONS).default('import'),
    )
    .option('--reason-column <column>', 'The name or the number of the column that says why')
    .option('--own-domains', "Also addresses of the account's own domains, which are left out by default")
    .option('--tenant <tenant_id>', 'Only for the sends of this tenant')
    .option('--dry-run', 'Count what the import would do, and import nothing')
    .addOption(urlOption())
    .action(async (file, { tenant: tenant_id, reason, dryRun, url, ownDomains, ...choices }) => {
      const list = readList(nameOf(file), await bytesOf(file), choices)
      const { lines, left } = ownDomains
        ? { lines: list.addresses, left: {} }
        : leaveOut(list.addresses, await domainsOf(url, list.addresses), matchingFormOf)
      const understood = understoodOf(list, left)
      const none = lines.length === 0 ? { text: `${nameOf(file)} has no address: nothing was imported.` } : {}
      if (lines.length > 0) console.error(describeUnderstood(understood))
      const send = async (part: AddressLine[], more: object): Promise<ImportResponse> => {
        const body = { emails: part.map(({ email }) => email), tenant_id, reason: part[0]?.reason ?? reason, ...more }
        return (await callPatiently({ url, path: '/api/v1/suppression/import', body })) as unknown as ImportResponse
      }
      print({ ...(await (dryRun ? countLines : importLines)(lines, understood, send)), ...none })
    })

type SendLines = (lines: AddressLine[], more: object) => Promise<ImportResponse>

async function countLines(lines: AddressLine[], understood: Understood, send: SendLines): Promise<Output> {
  const parts = [...inChunks(lines)].flatMap(byReason)
  const preview = await previewOf(parts, (part) => send(part, { dry_run: true }))
  const json = { ...preview, understood }
  return { json, text: describePreview(preview), exit: preview.invalid > 0 ? 'failed' : 'ok' }
}

async function importLines(lines: AddressLine[], understood: Understood, send: SendLines): Promise<Output> {
  // One id for all requests, chosen here: a request whose response was lost belongs to the import too.
  const import_id = publicId('imp', newId(Date.now()))
  const counts = { imported: 0, already_suppressed: 0, invalid: 0, total: 0 }
  const result: ImportResult = { ...counts, import_id, errors: [], understood }
  for (const chunk of inChunks(lines)) {
    for (const part of byReason(chunk)) {
      const response = await send(part, { import_id }).catch((error) => {
        throw stopped(error, chunk, result)
      })
      addResponse(result, part, response)
    }
    console.error(`${result.total} read, up to line ${chunk.at(-1)?.line}`)
  }
  result.errors.sort((a, b) => a.line - b.line)
  return { json: result, text: importText(result), exit: result.invalid > 0 ? 'failed' : 'ok' }
}

/** Adds the response to a request with these lines to the result. */
function addResponse(result: ImportResult, lines: AddressLine[], response: ImportResponse): void {
  for (const count of ['imported', 'already_suppressed', 'invalid', 'total'] as const) result[count] += response[count]
  result.errors.push(...invalidOf(lines, response.errors))
}

/** The error of a request, with the result of the requests before it: their addresses stay imported. */
function stopped(error: unknown, [first]: AddressLine[], result: ImportResult): unknown {
  if (!(error instanceof CliError) || result.total === 0) return error
  const progress = `The valid addresses before line ${first?.line} are imported. It does no harm to import them again.`
  return new CliError(error.exit, [error.message, progress, importText(result)].join('\n'), {
    ...error.json,
    ...result,
  })
}

function importText({ imported, already_suppressed, invalid, import_id, errors }: ImportResult): string {
  const counts = `${imported} imported, ${already_suppressed} already suppressed, ${invalid} skipped`
  const shown = errors.slice(0, LISTED_ERRORS).map(invalidText)
  const more = errors.length > LISTED_ERRORS ? [`  and ${errors.length - LISTED_ERRORS} more: --json lists them`] : []
  const undo = imported > 0 ? [`Undo it: verdict suppression undo ${import_id}`] : []
  return [counts, ...shown, ...more, ...undo].join('\n')
}

function* inChunks(lines: AddressLine[]): Generator<AddressLine[]> {
  const size = REQUEST_LIMITS.importAddresses
  for (let at = 0; at < lines.length; at += size) yield lines.slice(at, at + size)
}

/** One request has one reason. */
const byReason = (chunk: AddressLine[]) => [...Map.groupBy(chunk, ({ reason }) => reason).values()]

const nameOf = (file: string) => (file === '-' ? 'standard input' : file)

/** The bytes of a file; `-` is standard input. */
async function bytesOf(file: string): Promise<Uint8Array> {
  return (file === '-' ? buffer(process.stdin) : readFile(file)).catch((error: Error) => {
    throw new CliError('usage', `${nameOf(file)} cannot be read: ${error.message}`)
  })
}

/** The account's own domains: who sends from them also gets mail there. */
async function domainsOf(url: string | undefined, addresses: readonly AddressLine[]): Promise<string[]> {
  if (addresses.length === 0) return []
  try {
    const { domains } = (await callApi({ url, path: '/api/v1/domains' })) as { domains: { domain: string }[] }
    return domains.map(({ domain }) => domain)
  } catch (error) {
    const isRefused = error instanceof CliError && (error.json as { error?: string }).error === 'insufficient_scope'
    if (!isRefused) throw error
    const wayOut = 'Use a key with the scope domains.read, or import them, too, with --own-domains.'
    throw new CliError('usage', `The key may not list the account's domains, whose addresses are left out. ${wayOut}`)
  }
}
