import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import type { JSONWebKeySet } from 'jose'
import { createSealer } from '../server/db/encryption.ts'
import { KEY_SET_PATH } from '../server/http/site/key-set.ts'
import type { ReceiptClaims, RecipientClaims } from '../server/receipts/claims.ts'
import {
  activeKeyOf,
  keyIdOf,
  makeNextReceiptKey,
  type ReceiptKey,
  readKeys,
  signsFrom,
} from '../server/receipts/receipt-keys.ts'
import { findSentOctets } from '../server/receipts/sent-octets.ts'
import { verifyReceipt } from '../server/receipts/verify-receipt.ts'
import { CliError, command, type Print } from './command.ts'
import { withDatabase } from './database.ts'
import { variables } from './environment.ts'
import { ask, callApi, urlOption } from './service.ts'
import { shortTime, table } from './table.ts'

export const receiptCommand = (print: Print) =>
  command('receipt', 'verdict receipt msg_01jv3k8m5nfq0s2x7w9y4z6t1c > receipt.jws')
    .summary('Get the signed receipt of an email, verify one, or rotate the keys')
    .description("Get the signed receipt of an email. It proves to others what the recipient's server said.")
    .argument('<message_id>')
    .addOption(urlOption())
    .action(async (messageId, { url }) => {
      const response = await callApi({ url, path: `/api/v1/emails/${encodeURIComponent(messageId)}/receipt` })
      print({ json: response, text: String(response.receipt) })
    })
    .addCommand(verify(print))
    .addCommand(rotateKey(print))

const verify = (print: Print) =>
  command(
    'verify',
    'verdict receipt verify receipt.jws --jwks https://mail.example.com/.well-known/jwks.json',
    'verdict receipt verify receipt.jws --jwks jwks.json --issuer https://mail.example.com --message mail.eml',
  )
    .summary('Verify a receipt, and say what it proves')
    .description('Verify a receipt, and say what it proves. With a saved key set it needs no network.')
    .argument('<file>', 'the receipt, as text or as the JSON of the API; - reads standard input')
    .requiredOption('--jwks <file_or_url>', `The issuer's key set: a saved file, or https://...${KEY_SET_PATH}`)
    .option('--issuer <url>', 'The issuer that the receipt must name; by default that of the URL')
    .option('--message <file>', 'A saved copy of the message: is it the one that was sent?')
    .action(async (file, { jwks, issuer = issuerOf(jwks), message }) => {
      const jws = readReceipt((await readInput(file)).toString())
      const copy = message === undefined ? undefined : await readInput(message)
      const verification = await verifyReceipt(jws, await readKeySet(jwks), issuer)
      if ('fault' in verification) {
        const { fault, why } = verification
        throw new CliError('failed', `The receipt proves nothing (${fault}). ${why}`, { fault })
      }
      const { claims, kid } = verification
      const lines = receiptLines(claims, kid, issuer === undefined)
      const compared = copy && compare(copy, claims.digest)
      const text = [...lines, ...(compared ? [compared.text] : [])].join('\n')
      const json = { valid: true, kid, claims, ...(compared && { message_matches: compared.matches }) }
      print({ json, text, exit: compared?.matches === false ? 'failed' : 'ok' })
    })

async function readInput(file: string): Promise<Buffer> {
  if (file === '-') return buffer(process.stdin)
  try {
    return await readFile(file)
  } catch (error) {
    throw new CliError('usage', `${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`)
  }
}

/** The compact JWS alone, or the JSON in which the API returns it. */
function readReceipt(text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('{')) return trimmed
  const { receipt } = parseJson(trimmed) as { receipt?: unknown }
  return typeof receipt === 'string' ? receipt : trimmed
}

function parseJson(text: string): object {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

const isUrl = (jwks: string) => /^https?:\/\//.test(jwks)

/** The issuer that publishes its keys at this URL. A file does not say whose keys it holds. */
function issuerOf(jwks: string): string | undefined {
  return isUrl(jwks) && jwks.endsWith(KEY_SET_PATH) ? jwks.slice(0, -KEY_SET_PATH.length) : undefined
}

async function readKeySet(jwks: string): Promise<JSONWebKeySet> {
  const set = isUrl(jwks) ? (await ask({ url: jwks, path: '' })).body : parseJson((await readInput(jwks)).toString())
  const { keys } = set as { keys?: unknown }
  if (Array.isArray(keys) && keys.every((key) => typeof key === 'object' && key !== null)) return { keys }
  throw new CliError('usage', `${jwks} is not a key set (JSON with a list "keys").`)
}

function receiptLines(claims: ReceiptClaims, kid: string, isIssuerUnchecked: boolean): string[] {
  const { iss, sub, iat, from_domain, created_at, digest, sandbox, recipients } = claims
  const signedAt = new Date(iat * 1_000).toISOString()
  return [
    `The receipt is genuine. The key ${kid} signed it at ${signedAt}.`,
    `  issuer   ${iss}${isIssuerUnchecked ? ' (as the receipt says: trust it as far as you trust the key set)' : ''}`,
    `  message  ${sub} from ${from_domain}, accepted at ${created_at}`,
    `  digest   ${digest ?? 'none: no octets of it went out'}`,
    ...(sandbox ? ['  This was a dry run: nothing was sent, and the outcomes are what was expected.'] : []),
    ...recipients.flatMap(describeRecipient),
    '"delivered" means that the server accepted the message with 250. It says nothing about the inbox.',
  ]
}

function describeRecipient(recipient: RecipientClaims): string[] {
  const { email, kind, status, reason, in_doubt, mx, ip, code, enhanced, reply, tls, at } = recipient
  const doubt = in_doubt ? ' (in doubt: the reply was lost, and the message may have arrived)' : ''
  const server = [mx, ip && `[${ip}]`].filter(Boolean).join(' ') || 'the server'
  const secure = tls
    ? `${tls.version}, certificate ${tls.verified ? 'valid' : 'not verified'}${tls.by ? ` (${tls.by})` : ''}`
    : 'no TLS'
  const words = [code, enhanced, reply].filter(Boolean).join(' ')
  return [
    `  ${kind} ${email}: ${status}${reason ? `, ${reason}` : ''}${doubt}, at ${at}`,
    ...(code ? [`    ${server} replied ${words} (${secure})`] : mx ? [`    tried ${server}`] : []),
  ]
}

function compare(copy: Buffer, digest: string | undefined): { matches: boolean; text: string } {
  if (!digest) return { matches: false, text: 'The receipt has no digest, because no octets of the message went out.' }
  const found = findSentOctets(copy, digest)
  if (!found) {
    const text =
      'The saved message has another digest. It is another message, or a server or a mail program has changed its octets.'
    return { matches: false, text }
  }
  const added = found.added > 0 ? `, after ${found.added} octets of header that servers added on the way` : ''
  return { matches: true, text: `The saved message is the one that was sent, octet for octet${added}.` }
}

const rotateKey = (print: Print) =>
  command('rotate-key', 'verdict receipt rotate-key', 'verdict receipt rotate-key --json')
    .summary('Create the next key for receipts, and list all keys')
    .description(
      'Create the next key for receipts, and list all keys. It signs 10 minutes later. Old receipts stay valid.',
    )
    .action(async () => {
      const sealer = createSealer(variables('encryptionKeys').encryptionKeys)
      await withDatabase(async (db, clock) => {
        await makeNextReceiptKey({ db, clock, sealer })
        const stored = await readKeys(db)
        const active = activeKeyOf(stored, clock.now())!
        const keys = stored.map((key) => ({ kid: keyIdOf(key), created_at: key.createdAt, ...stateOf(key, active) }))
        const rows = keys.map(({ kid, created_at, state, signs_from }) => {
          return [kid, shortTime(created_at), signs_from ? `${state}, signs from ${shortTime(signs_from)}` : state]
        })
        print({ json: { keys }, text: table(['KEY', 'CREATED', 'STATE'], rows, '') })
      })
    })

function stateOf(key: ReceiptKey, active: ReceiptKey): { state: 'retired' | 'active' | 'next'; signs_from?: Date } {
  if (key.id === active.id) return { state: 'active' }
  if (key.createdAt < active.createdAt) return { state: 'retired' }
  return { state: 'next', signs_from: new Date(signsFrom(key)) }
}
