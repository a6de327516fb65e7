import type { AttemptRequest } from '../../gen/verdict/v1/events_pb.ts'
import { shellQuoted, unicodeEscapes } from '../messages/send-command.ts'

const CONTINUED = ' \\\n  '
const SIGNED = ['Service-Signature', 'Service-Timestamp', 'webhook-signature', 'webhook-timestamp']

/**
 * Posts the request of an attempt again with curl, signed anew with the secret in `$WEBHOOK_SECRET` at the time of the
 * call. Where the URL is not known whole, it is taken from `$WEBHOOK_URL`.
 */
export function curlCommand({ url, headers, body }: AttemptRequest): string {
  const others = Object.entries(headers).filter(([name]) => !SIGNED.includes(name))
  const curl = [
    'curl -i',
    ...others.map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    '-H "Service-Timestamp: $time"',
    '-H "Service-Signature: $signature"',
    '-H "webhook-timestamp: $time"',
    '-H "webhook-signature: v1,$standard"',
    '--data-binary "$body"',
    isWholeUrl(url) ? shellQuoted(url) : '"$WEBHOOK_URL"',
  ]
  // biome-ignore lint/suspicious/noTemplateCurlyInString: an expansion of the shell
  const key = '$(printf %s "${WEBHOOK_SECRET#whsec_}" | base64 -d | od -An -v -tx1 | tr -d \' \\n\')'
  const mac = 'openssl dgst -sha256 -mac HMAC'
  return [
    `body=${shellQuoted(visible(body))}`,
    'time=$(date +%s)',
    `signature=$(printf '%s.%s' "$time" "$body" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" | sed 's/.* //')`,
    `standard=$(printf '%s.%s.%s' ${shellQuoted(headers['webhook-id']!)} "$time" "$body" |`,
    `  ${mac} -macopt "hexkey:${key}" -binary | base64 | tr -d '\\n')`,
    curl.join(CONTINUED),
  ].join('\n')
}

/** Whether the URL of an attempt is known whole. Its query may be masked. */
export const isWholeUrl = (url: string | undefined): url is string => url !== undefined && !url.includes('?')

/** Writes characters that a terminal would not show as JSON escapes. Everything else keeps its bytes. */
const visible = (json: string) => json.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, unicodeEscapes)
