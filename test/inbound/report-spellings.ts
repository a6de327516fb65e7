// Other ways to write a report, and what says nothing beside it.

/** The header and the body of a mail that is text alone; undefined for any other. */
function textOf(mail: string): [header: string, body: string] | undefined {
  const end = mail.indexOf('\r\n\r\n')
  const header = mail.slice(0, end)
  return /multipart|html/i.test(header) ? undefined : [header, mail.slice(end + 4)]
}

const FIELDS = /^(?:Final-Recipient|Action|Status|Diagnostic-Code|Content-Type|Subject|From):/gim
const toBase64 = (text: string) => Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\r\n')

/** Non-ASCII octets, the equals sign and the ends of lines, in short lines. */
function toQuotedPrintable(text: string): string {
  return Array.from(Buffer.from(text), (octet) =>
    octet > 126 || octet === 61 ? `=${hex(octet)}` : String.fromCharCode(octet),
  )
    .join('')
    .replace(/[ \t](?=\r\n)/g, (blank) => `=${hex(blank.charCodeAt(0))}`)
    .replace(/(?:=[0-9A-F]{2}|[^\r\n]){72}(?=[^\r\n])/g, '$&=\r\n')
}
const hex = (octet: number) => octet.toString(16).toUpperCase().padStart(2, '0')

/** Encodes the body of a mail that is text alone. */
function encoded(mail: string, encoding: string, encode: (text: string) => string): string {
  const [header, body] = textOf(mail) ?? []
  if (header === undefined || /content-transfer-encoding/i.test(header)) return mail
  return `${header}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${encode(body!)}\r\n`
}

/** The header of a mail with other lines; its fields keep their folds. */
function withHeader(mail: string, change: (fields: string[]) => string[]): string {
  const end = mail.indexOf('\r\n\r\n')
  if (end < 0) return mail
  return change(mail.slice(0, end).split(/\r\n(?![ \t])/)).join('\r\n') + mail.slice(end)
}

function behind(mail: string, paragraph: string): string {
  return textOf(mail) ? `${mail}\r\n${paragraph}\r\n` : mail
}

/** The mail with one more paragraph in its text for people, in front of the status part where it has one. */
export function besideNotice(mail: string, paragraph: string): string {
  const withStatus = mail
    .replace(/(?=\r\n--=_p\r\nContent-Type: message\/delivery-status)/, `\r\n\r\n${paragraph}\r\n`)
    .replace('charset=us-ascii', 'charset=utf-8')
  return withStatus === mail ? behind(mail, paragraph) : withStatus
}

export const LF_ALONE = 'LF alone'

export const REPORT_SPELLINGS: Record<string, (mail: string) => string> = {
  [LF_ALONE]: (mail) => mail.replaceAll('\r\n', '\n'),
  'spaces at the ends of lines': (mail) => mail.replace(/(?<=[a-z])\r\n/g, '  \r\n'),
  'fields in lower case': (mail) => mail.replace(FIELDS, (field) => field.toLowerCase()),
  'no space after a colon': (mail) => mail.replace(/^(Final-Recipient|Action|Status|Diagnostic-Code): /gm, '$1:'),
  'an encoded subject': (mail) =>
    mail.replace(/^Subject: (.*?)\r$/m, (_, text) => `Subject: =?UTF-8?B?${Buffer.from(text).toString('base64')}?=\r`),
  'an address in capitals': (mail) => mail.replaceAll('ann@example.net', 'Ann@EXAMPLE.net'),
  base64: (mail) => encoded(mail, 'base64', toBase64),
  'quoted-printable': (mail) => encoded(mail, 'quoted-printable', toQuotedPrintable),
  'a paragraph of a gateway': (mail) =>
    behind(mail, 'Scanned for viruses and spam. If you are not the intended recipient, please notify the sender.'),
  'another boundary': (mail) => mail.replaceAll('=_p', "----=_Part_17.0(a)?'+_,-./:=b"),
  'a boundary without quotes': (mail) => mail.replace(/boundary="=_p"/g, 'boundary=QQ17').replaceAll('--=_p', '--QQ17'),
  'header fields in another order': (mail) => withHeader(mail, (fields) => fields.toReversed()),
  'fields of gateways': (mail) =>
    withHeader(mail, (fields) => [
      'Received: from a.example (a.example [198.51.100.8]) by b.example; Mon, 23 Nov 2026 08:00:00 +0000',
      'X-Spam-Status: No, score=0.1',
      ...fields,
      'Date: Mon, 23 Nov 2026 08:00:01 +0000',
      'Message-ID: <550.5.1.1.full@b.example>',
    ]),
  'folded fields': (mail) => withHeader(mail, (fields) => fields.map((field) => field.replace(/; (?=\w)/g, ';\r\n\t'))),
  'media types in capitals': (mail) =>
    mail.replace(/^(Content-Type: )([a-z]+\/[a-z0-9-]+)/gim, (_, name, type) => name + type.toUpperCase()),
  'another charset of ASCII': (mail) => mail.replaceAll('charset=us-ascii', 'charset="iso-8859-1"'),
  'a preamble and an epilogue': (mail) =>
    mail.replace(/\r\n\r\n--=_p\r\n/, '\r\n\r\nThis is a MIME-encapsulated message.\r\n\r\n--=_p\r\n') +
    (mail.includes('--=_p--') ? 'Bye.\r\n' : ''),
  'other dates': (mail) => mail.replaceAll('Sat, 21 Nov 2026 10:00:00 +0000', 'Tue, 1 Dec 2026 23:59:59 -0800 (PST)'),
}
