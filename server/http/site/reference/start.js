// Shows the reference: Swagger UI with the scheme of the reader, and the samples of each call in four languages.

const isDark = matchMedia('(prefers-color-scheme: dark)')
/** The scheme that the person chose in the dashboard, which stores it under this name; otherwise the system decides. */
function followScheme() {
  let chosen = null
  try {
    chosen = localStorage.getItem('mantine-color-scheme-value')
  } catch {
    // A browser without storage uses the scheme of the system.
  }
  const dark = chosen === 'dark' || (chosen !== 'light' && isDark.matches)
  document.documentElement.classList.toggle('dark-mode', dark)
}
followScheme()
isDark.addEventListener('change', followScheme)

/** The language that the reader chose last, for every call. */
let language = 'curl'
const listeners = new Set()

function Samples({ React, samples }) {
  const { createElement: h, useEffect, useState } = React
  const [label, setLabel] = useState(language)
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    listeners.add(setLabel)
    return () => listeners.delete(setLabel)
  }, [])
  const choose = (chosen) => {
    language = chosen
    for (const listener of listeners) listener(chosen)
  }
  const { source } = samples.find((sample) => sample.label === label) ?? samples[0]
  const copy = async () => {
    await navigator.clipboard.writeText(source)
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  const tabs = samples.map((sample) =>
    h(
      'button',
      {
        key: sample.label,
        type: 'button',
        'aria-pressed': sample.label === label,
        onClick: () => choose(sample.label),
      },
      sample.label,
    ),
  )
  return h(
    'div',
    { className: 'samples' },
    h('div', { className: 'opblock-section-header' }, h('h4', null, 'Code'), h('div', { className: 'tabs' }, ...tabs)),
    h(
      'div',
      { className: 'sample' },
      h('pre', { tabIndex: 0 }, source),
      h('button', { type: 'button', onClick: copy }, copied ? 'Copied' : 'Copy'),
    ),
  )
}

/** Puts the samples of a call above its responses. */
const samplesPlugin = ({ React }) => ({
  wrapComponents: {
    responses: (Responses) => (props) => {
      const { path, method, specSelectors } = props
      const samples = specSelectors.specJson().getIn(['paths', path, method, 'x-codeSamples'])?.toJS()
      const h = React.createElement
      return h(React.Fragment, null, samples && h(Samples, { React, samples }), h(Responses, props))
    },
  },
})

// "Try it out" calls where the page came from, whatever the public URL is: the policy allows no other origin.
const base = location.pathname.replace(/\/docs$/, '')
fetch(`${base}/api/v1/openapi.json`)
  .then((response) => response.json())
  .then((document) => {
    const spec = { ...document, servers: [{ url: base || '/' }] }
    const plugins = [samplesPlugin]
    SwaggerUIBundle({ spec, dom_id: '#reference', validatorUrl: null, deepLinking: true, plugins })
  })
  .catch((error) => {
    document.querySelector('#reference').textContent =
      `The reference cannot be shown: ${error.message}. Reload the page.`
  })
