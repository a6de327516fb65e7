// The search of the guides, buttons that copy code, and the folded list of guides on a narrow screen.
const form = document.querySelector('form[role=search]')
const input = form.querySelector('input')
const list = form.querySelector('ol')
const root = new URL(form.dataset.root, location.href)

let engine
/** Loads the index when the search is used first. */
function loadEngine() {
  engine ??= Promise.all([import('./minisearch.js'), fetch(new URL('assets/search.json', root))]).then(
    async ([{ default: MiniSearch }, response]) => {
      const search = new MiniSearch({
        fields: ['title', 'heading', 'text'],
        storeFields: ['title', 'heading', 'href', 'text'],
        searchOptions: { boost: { title: 4, heading: 3 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
      })
      search.addAll(await response.json())
      return search
    },
  )
  return engine
}

const MAX_RESULTS = 12

async function showResults() {
  const words = input.value.trim()
  const search = await loadEngine()
  if (words !== input.value.trim()) return
  const results = words === '' ? [] : search.search(words).slice(0, MAX_RESULTS)
  list.hidden = words === ''
  list.replaceChildren(...(results.length > 0 ? results.map(resultItem) : [emptyItem(words)]))
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

function emptyItem(words) {
  const item = document.createElement('li')
  item.className = 'empty'
  item.textContent = `No guide has “${words}”.`
  return item
}

/** The words around the first match. */
function excerptOf(text, terms) {
  const lower = text.toLowerCase()
  const at = Math.min(...terms.map((term) => lower.indexOf(term)).filter((index) => index >= 0))
  const from = Number.isFinite(at) ? Math.max(0, at - 50) : 0
  return `${from > 0 ? '…' : ''}${text.slice(from, from + 140)}…`
}

input.addEventListener('focus', loadEngine)
input.addEventListener('input', showResults)
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
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.querySelector('code').textContent)
    button.textContent = 'Copied'
    setTimeout(() => (button.textContent = 'Copy'), 1500)
  })
  const frame = document.createElement('div')
  frame.className = 'code'
  block.replaceWith(frame)
  frame.append(block, button)
}

if (matchMedia('(max-width: 900px)').matches) document.querySelector('.guides details').open = false
