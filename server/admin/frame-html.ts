/** An image that html names by its Content-ID. */
interface InlineImage {
  /** Without angle brackets. */
  contentId?: string
  contentType: string
  content: Uint8Array
}

const SHOWN_TYPES = /^image\/(?:avif|bmp|gif|jpeg|png|webp)$/
/** Images within html are repeated wherever it names them, as base64. Those beyond this many characters do not show. */
const MOST_INLINED = 16 * 2 ** 20

const DOCTYPE = /^\s*<!doctype[^>]*>/i
/** These send a reader elsewhere, open connections, or weaken the referrer policy. No policy covers them all. */
const HEAD_ELEMENTS = /<(?:base|link|meta)(?=[\s/>])/gi
const CID_URL = /(["'(=]\s*)cid:([^"'\s<>()]+)/gi
/** A link of whatever element, with the `#` that its URL may begin with. */
const LINK = /(href\s*=\s*["']?)#?/gi
/** The page of an inner frame, and what lets an animation set a link. */
const LINK_MAKERS = /(?:srcdoc|attributename)(?=\s*=)/gi

/**
 * The html of a message as its frame shows it. The frame's policy forbids scripts and remote content; this changes only
 * what the policy cannot. Elements of the head become `bgsound`, an obsolete void element without effect, which leaves
 * the page's structure as it is.
 */
export function frameHtml(html: string, images: readonly InlineImage[] = []): string {
  const harmless = html.replace(HEAD_ELEMENTS, '<bgsound')
  const [doctype = ''] = DOCTYPE.exec(harmless) ?? []
  const shown = inlineImages(harmless.slice(doctype.length), images)
  return `${doctype}<base target="_blank">${withoutLinks(shown)}`
}

/**
 * Every URL of a link becomes a fragment: a place on the page itself. A page in a sandbox that is opened by itself may
 * still leave it by a link with a target. Links keep their look, and the browser shows where they would lead. The text
 * is changed wherever it looks like a link, so no way of writing a tag escapes. This comes last: the base64 of an image
 * may end in `href`.
 */
const withoutLinks = (html: string): string => html.replace(LINK_MAKERS, 'x-$&').replace(LINK, '$1#')

function inlineImages(html: string, images: readonly InlineImage[]): string {
  const shown = images.filter(({ contentType }) => SHOWN_TYPES.test(contentType))
  const byId = new Map(shown.map((image) => [image.contentId, image]))
  const urls = new Map<InlineImage, string>()
  let room = MOST_INLINED
  return html.replace(CID_URL, (whole, before: string, id: string) => {
    const image = byId.get(decoded(id))
    if (!image) return whole
    const url = urls.get(image) ?? `data:${image.contentType};base64,${Buffer.from(image.content).toString('base64')}`
    urls.set(image, url)
    if (url.length > room) return whole
    room -= url.length
    return before + url
  })
}

/** The Content-ID in a `cid:` URL (RFC 2392 2). */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
