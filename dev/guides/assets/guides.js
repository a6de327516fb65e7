// The search of the guides, buttons that copy code, and the folded list of guides on a narrow screen.
const form = document.querySelector('form[role=search]')
const input = form.querySelector('input')
const list = form.querySelector('ol')
const root = new URL(form.dataset.root, location.href)

let engine
/** Loads the index when the search is used first. Loads it again when that failed. */
function loadEngine() {
  engine ??= createEngine().catch((error) => {
    engine = undefined
    throw error
  })
  return engine
}

async function createEngine() {
  const index = fetch(new URL('assets/search.json', root))
  const [{ default: MiniSearch }, response] = await Promise.all([import('./minisearch.js'), index])
  const search = new MiniSearch({
    fields: ['title', 'heading', 'text'],
    storeFields: ['title', 'heading', 'href', 'text'],
    searchOptions: { boost: { title: 4, heading: 3 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
  })
  search.addAll(await response.json())
  return search
}

const MAX_RESULTS = 12

async function showResults() {
  const words = input.value.trim()
  const items = await loadEngine().then(
    (search) => itemsOf(search, words),
    () => [messageItem('The search cannot be loaded. Type again to retry.')],
  )
  if (words !== input.value.trim()) return
  list.hidden = words === ''
  list.replaceChildren(...items)
}

function itemsOf(search, words) {
  const results = words === '' ? [] : search.search(words).slice(0, MAX_RESULTS)
  return results.length > 0 ? results.map(resultItem) : [messageItem(`No guide has “${words}”.`)]
}

function resultItem({ title, heading, href, text, terms }) {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = new URL(href, root)
  const name = document.createElement('strong')
  name.textContent = heading === title ? title : `${title} › ${heading}`
  const excerpt = document.createElement('span')
  excerpt.textContent = excerptOf(text, terms)
  link.append(name, excerpt)
  item.append(link)
  return item
}

function messageItem(text) {
  const item = document.createElement('li')
  item.className = 'empty'
  item.textContent = text
  return item
}

/** The words around the first match. */
function excerptOf(text, terms) {
  const lower = text.toLowerCase()
  const at = Math.min(...terms.map((term) => lower.indexOf(term)).filter((index) => index >= 0))
  const from = Number.isFinite(at) ? Math.max(0, at - 50) : 0
  return `${from > 0 ? '…' : ''}${text.slice(from, from + 140)}…`
}

// A failure is shown once a reader types.
input.addEventListener('focus', () => void loadEngine().catch(() => {}))
input.addEventListener('input', () => void showResults())
form.addEventListener('submit', (event) => {
  event.preventDefault()
  list.querySelector('a')?.click()
})
form.addEventListener('keydown', (event) => {
  const links = [...list.querySelectorAll('a')]
  const at = links.indexOf(document.activeElement)
  if (event.key === 'Escape') {
    list.hidden = true
    input.focus()
  } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault()
    const next = at + (event.key === 'ArrowDown' ? 1 : -1)
    ;(links[next] ?? input).focus()
  }
})
document.addEventListener('click', (event) => {
  if (!form.contains(event.target)) list.hidden = true
})
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target !== document.body) return
  event.preventDefault()
  input.focus()
})

for (const block of document.querySelectorAll('main pre')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  const copy = async () => {
    // A browser gives no clipboard to a page without TLS.
    const isCopied = await navigator.clipboard?.writeText(block.querySelector('code').textContent).then(
      () => true,
      () => false,
    )
    button.textContent = isCopied ? 'Copied' : 'Select and copy'
    setTimeout(() => (button.textContent = 'Copy'), 1500)
  }
  button.addEventListener('click', () => void copy())
  const frame = document.createElement('div')
  frame.className = 'code'
  block.replaceWith(frame)
  frame.append(block, button)
}

if (matchMedia('(max-width: 900px)').matches) document.querySelector('.guides details').open = false
