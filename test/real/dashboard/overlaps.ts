/** Runs in a page: the texts within `main` that are seen over others, and short words that go on in the next line. */
export const OVERLAPS = `(() => {
  const seenPart = (element, { left, right, top, bottom }) => {
    for (let at = element; at !== document.documentElement; at = at.parentElement) {
      const { clip, clipPath, overflowX, overflowY } = getComputedStyle(at)
      if (clip !== 'auto' || clipPath !== 'none') return []
      if (overflowX === 'visible' && overflowY === 'visible') continue
      const box = at.getBoundingClientRect()
      left = Math.max(left, box.left)
      right = Math.min(right, box.right)
      top = Math.max(top, box.top)
      bottom = Math.min(bottom, box.bottom)
    }
    return right - left > 2 && bottom - top > 2 ? [{ left, right, top, bottom }] : []
  }
  const texts = []
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement
    if (!node.data.trim() || element.closest('svg') || !element.checkVisibility({ visibilityProperty: true })) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    for (const box of range.getClientRects())
      for (const part of seenPart(element, box)) texts.push({ node, text: node.data.trim().slice(0, 30), ...part })
  }
  const meet = (a, b) =>
    a.node !== b.node &&
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4
  const found = texts.flatMap((a, at) =>
    texts.slice(at + 1).filter((b) => meet(a, b)).map((b) => a.text + ' over ' + b.text))
  const isBroken = (node, { 0: word, index }) => {
    const range = document.createRange()
    range.setStart(node, index)
    range.setEnd(node, index + word.length)
    return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1
  }
  const wordsOf = (node) => [...node.data.matchAll(/(?<!\\S)[a-z]{2,14}(?!\\S)/gi)]
  const broken = texts.flatMap(({ node }) =>
    wordsOf(node).filter((word) => isBroken(node, word)).map(([word]) => 'broken: ' + word))
  return [...new Set([...found, ...broken])]
})()`
