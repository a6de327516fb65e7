/** A message of these header lines and body lines. */
export function messageOf(header: readonly string[], body: readonly string[] = ['Hi']): Buffer {
  return Buffer.from([...header, '', ...body, ''].join('\r\n'), 'latin1')
}

export const GOOD_HEADER = ['From: Shop <hello@example.test>', 'To: ann@example.net', 'Subject: Hello']

const multipart = (depth: number) =>
  Array.from({ length: depth }, (_, i) => [`Content-Type: multipart/mixed; boundary=b${i}`, '', `--b${i}`]).flat()

/** Messages that are refused, with what is said about them. */
export const BAD_MESSAGES: [sentence: string, message: Buffer, fault: RegExp][] = [
  ['two From headers', messageOf([...GOOD_HEADER, 'From: eve@example.test']), /has 2 From headers/],
  ['From twice under different case', messageOf([...GOOD_HEADER, 'FROM: eve@example.test']), /has 2 From headers/],
  ['no From header', messageOf(['To: ann@example.net', 'Subject: Hello']), /has no From header/],
  ['no header at all', Buffer.from('\r\nHi\r\n'), /has no From header/],
  ['nothing at all', Buffer.alloc(0), /has no From header/],
  ['a space before the colon', messageOf(['From : hello@example.test']), /no header field in line 1.*right after it/],
  ['a folded first line', messageOf([' From: hello@example.test', ...GOOD_HEADER]), /folded line, in line 1/],
  ['a line of the header without a colon', messageOf([...GOOD_HEADER, 'Hello']), /no header field in line 4/],
  ['a header name beyond ASCII', messageOf(['X-\xfc: 1', ...GOOD_HEADER]), /8-bit octet in its header, in line 1/],
  ['1,001 header fields', messageOf([...GOOD_HEADER, ...Array(998).fill('X-A: a')]), /has over 1000 header fields/],
  ['an escape in a header', messageOf([...GOOD_HEADER, 'X-A: a\x1b[0m']), /control character in its header, in line 4/],
  [
    'a DEL in a folded line',
    messageOf([...GOOD_HEADER, 'X-A: a', ' b\x7f']),
    /control character in its header, in line 5/,
  ],
  [
    'a folded line of blanks alone',
    messageOf([...GOOD_HEADER, ' \t']),
    /folded line of blanks alone in its header, in line 4/,
  ],
  [
    '101 Received headers',
    messageOf([...GOOD_HEADER, ...Array.from({ length: 101 }, () => 'Received: by a.example; Thu, 1 Jan 1970')]),
    /over 100 Received headers: it goes in a circle/,
  ],
  ['two addresses in From', messageOf(['From: a@example.test, b@example.test']), /has 2 addresses in From/],
  ['no address in From', messageOf(['From: Shop <>']), /not an email address/],
  ['an empty From', messageOf(['From:']), /has 0 addresses in From/],
  ['a group in From', messageOf(['From: Shop: hello@example.test;']), /has a group in From/],
  [
    'a group in Reply-To',
    messageOf([...GOOD_HEADER, 'Reply-To: Us: a@example.net, b@example.net;']),
    /group in Reply-To/,
  ],
  ['an encoded word inside an address', messageOf(['From: <=?utf-8?q?hello?=@example.test>']), /encoded word inside/],
  ['an encoded word inside an address of Cc', messageOf([...GOOD_HEADER, 'Cc: A <=?utf-8?q?b=40c.test?=>']), /of Cc/],
  ['an open quote in Reply-To', messageOf([...GOOD_HEADER, 'Reply-To: "Ann <a@b.test>']), /no list of addresses/],
  [
    'an encoded Subject that decodes to CRLF',
    messageOf([GOOD_HEADER[0]!, 'Subject: =?utf-8?q?a=0D=0ABcc:_b@c.test?=']),
    /Subject that holds a line break/,
  ],
  [
    'an encoded name in From that decodes to CRLF',
    messageOf(['From: =?utf-8?q?a=0D=0Ab?= <hello@example.test>']),
    /From that holds a line break/,
  ],
  ['a Sender of another domain', messageOf([...GOOD_HEADER, 'Sender: eve@example.com']), /Sender of example\.com/],
  ['two Subjects', messageOf([...GOOD_HEADER, 'subject: again']), /has 2 Subject headers/],
  ['two Message-IDs', messageOf([...GOOD_HEADER, 'Message-ID: <a@b>', 'Message-Id: <c@d>']), /has 2 Message-ID/],
  [
    'two Content-Types',
    messageOf([...GOOD_HEADER, 'Content-Type: text/plain', 'Content-Type: text/html']),
    /has 2 Content-Type/,
  ],
  [
    'a bare line feed',
    Buffer.from('From: hello@example.test\r\n\r\nHi\nthere\r\n'),
    /line feed without a carriage return, in line 3/,
  ],
  [
    'a bare line feed before a dot',
    Buffer.from('From: hello@example.test\r\n\r\nHi\n.\r\nMAIL FROM:<x@y.z>\r\n'),
    /line feed without/,
  ],
  [
    'a bare carriage return',
    Buffer.from('From: hello@example.test\r\n\r\nHi\rthere\r\n'),
    /carriage return without a line feed, in line 3/,
  ],
  [
    'a carriage return at the end',
    Buffer.from('From: hello@example.test\r\n\r\nHi\r'),
    /carriage return without a line feed/,
  ],
  ['a line of 2,000 octets', messageOf(GOOD_HEADER, ['x'.repeat(2_000)]), /2000 octets in line 5/],
  [
    'a line of 999 octets at the end',
    Buffer.from(`From: hello@example.test\r\n\r\n${'x'.repeat(999)}`),
    /999 octets in line 3/,
  ],
  ['a NUL', messageOf(GOOD_HEADER, ['a\0b']), /NUL in line 5/],
  [
    '8-bit without declaration',
    messageOf(GOOD_HEADER, ['Gr\xfc\xdfe']),
    /8-bit octet in line 5.*Content-Transfer-Encoding: 8bit/,
  ],
  [
    '8-bit in a part without declaration',
    messageOf(
      [...GOOD_HEADER, 'Content-Type: multipart/mixed; boundary=b', 'Content-Transfer-Encoding: 8bit'],
      ['--b', '', 'Gr\xfc\xdfe', '--b--'],
    ),
    /8-bit octet/,
  ],
  [
    '8-bit in the header of a part',
    messageOf(
      [...GOOD_HEADER, 'Content-Type: multipart/mixed; boundary=b'],
      ['--b', 'Content-Disposition: attachment; filename="\xfc"', '', 'a', '--b--'],
    ),
    /8-bit octet in the header of a part/,
  ],
  [
    'a calendar whose METHOD differs from the parameter',
    messageOf([...GOOD_HEADER, 'Content-Type: text/calendar; method=REQUEST'], ['BEGIN:VCALENDAR', 'METHOD:CANCEL']),
    /a calendar with METHOD CANCEL, but its Content-Type has method=REQUEST/,
  ],
  [
    'an encoded calendar, of another charset, whose METHOD differs',
    messageOf(
      [
        ...[...GOOD_HEADER, 'Content-Type: text/calendar; charset=utf-16le; method=Request'],
        'Content-Transfer-Encoding: base64',
      ],
      [Buffer.from('METHOD:REQUEST\r\nMETH\r\n OD;X=1:REPLY\r\n', 'utf16le').toString('base64')],
    ),
    /METHOD REPLY, but its Content-Type has method=Request/,
  ],
  ['200 nested parts', messageOf([...GOOD_HEADER, ...multipart(200)]), /over 100 parts/],
  [
    '200 nested messages',
    messageOf([...GOOD_HEADER, ...Array.from({ length: 200 }, () => ['Content-Type: message/rfc822', '']).flat()]),
    /over 100 parts/,
  ],
  [
    'a header of 1 MB',
    messageOf([...GOOD_HEADER, ...Array.from({ length: 1_100 }, (_, i) => `X-${i}: ${'x'.repeat(950)}`)]),
    /header of over 64 KiB/,
  ],
  [
    'a folded header of 1 MB',
    messageOf([...GOOD_HEADER, 'X-A: a', ...Array.from({ length: 1_100 }, () => ` ${'x'.repeat(950)}`)]),
    /header of over 64 KiB/,
  ],
]
