const ID = /^(msg|evt)_[0-9a-z]{26}$/i
const DOMAIN = /^(?=.{3,255}$)[^\s@./]+(\.[^\s@./]+)+$/u

/**
 * The page below the account that the text of the search box leads to; undefined for an empty text. An id opens its
 * page, an address filters the messages by recipient, a domain by sender, and any other word by tag. What is around an
 * address or an id, as mail programs and logs write it, is left out.
 */
export function placeOf(text: string): string | undefined {
  const word = bare(text)
  if (word === '') return undefined
  const kind = ID.exec(word)?.[1]?.toLowerCase()
  if (kind) return `${kind === 'msg' ? 'messages' : 'events'}/${word.toLowerCase()}`
  const filter = word.includes('@') ? 'recipient' : DOMAIN.test(word) ? 'domain' : 'tag'
  return `messages?${new URLSearchParams({ [filter]: word })}`
}

/** `Ann <ann@example.com>`, `mailto:ann@example.com` and `"msg_..."` without what is around the value. */
function bare(text: string): string {
  const inBrackets = /<([^<>\s]+@[^<>\s]+)>\s*$/.exec(text)?.[1] ?? text
  return inBrackets
    .trim()
    .replace(/[,;]+$/, '')
    .replace(/^(["'`])(.*)\1$/, '$2')
    .replace(/^mailto:([^?]*).*$/i, '$1')
    .trim()
}
