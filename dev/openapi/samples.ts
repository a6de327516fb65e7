import type { Binding } from '../../server/http/rest/bindings.ts'
import type { Example } from './examples.ts'

/** A call in one language, as the extension `x-codeSamples` of OpenAPI holds it. */
export interface Sample {
  lang: string
  label: string
  source: string
}

interface SampleCall {
  verb: string
  /** With its parameters filled in, and its query. */
  path: string
  /** JSON, indented by two spaces. */
  body?: string
}

/** The example of an operation in four languages. They read `VERDICT_URL` and `VERDICT_API_KEY`. */
export function samplesOf(binding: Binding, example: Example): Sample[] {
  const call = callOf(binding, example)
  return [
    { lang: 'Shell', label: 'curl', source: curl(call) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
    { lang: 'Python', label: 'Python', source: python(call) },
    { lang: 'Go', label: 'Go', source: go(call) },
  ]
}

function callOf({ verb, path, hasBody, inPath }: Binding, { parameters = {}, request }: Example): SampleCall {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(parameters[name])))
  const query = new URLSearchParams(
    Object.entries(parameters)
      .filter(([name]) => !inPath.includes(name))
      .map(([name, value]) => [name, String(value)]),
  )
  return {
    verb,
    path: query.size > 0 ? `${filled}?${query}` : filled,
    body: hasBody && request !== undefined ? JSON.stringify(request, undefined, 2) : undefined,
  }
}

const indented = (text: string, by: string) => text.replaceAll('\n', `\n${by}`)

function curl({ verb, path, body }: SampleCall): string {
  const quoted = body?.replaceAll("'", `'\\''`)
  return [
    `curl${verb === 'GET' || (verb === 'POST' && body) ? '' : ` -X ${verb}`} "$VERDICT_URL${path}"`,
    '-H "Authorization: Bearer $VERDICT_API_KEY"',
    ...(quoted === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${quoted}'`]),
  ].join(' \\\n  ')
}

function typescript({ verb, path, body }: SampleCall): string {
  const type = body === undefined ? '' : `\n    'Content-Type': 'application/json',`
  const content = body === undefined ? '' : `\n  body: JSON.stringify(${indented(body, '  ')}),`
  return `const response = await fetch(\`\${process.env.VERDICT_URL}${path}\`, {
  method: '${verb}',
  headers: {
    Authorization: \`Bearer \${process.env.VERDICT_API_KEY}\`,${type}
  },${content}
})
console.log(response.status, await response.json())`
}

function python({ verb, path, body }: SampleCall): string {
  const content = body === undefined ? '' : `\n    json=${indented(inPython(body), '    ')},`
  return `import os

import requests

response = requests.request(
    "${verb}",
    os.environ["VERDICT_URL"] + "${path}",
    headers={"Authorization": "Bearer " + os.environ["VERDICT_API_KEY"]},${content}
)
print(response.status_code, response.json())`
}

/** JSON as a literal of Python. A text keeps its words: only a value of its own is one of these three. */
function inPython(json: string): string {
  const words: Record<string, string> = { true: 'True', false: 'False', null: 'None' }
  return json.replaceAll(/"(?:\\.|[^"\\])*"|\b(?:true|false|null)\b/g, (token) => words[token] ?? token)
}

function go({ verb, path, body }: SampleCall): string {
  const reader = body === undefined ? 'nil' : `strings.NewReader(${inGo(body)})`
  const type = body === undefined ? '' : '\n\trequest.Header.Set("Content-Type", "application/json")'
  const imports = ['fmt', 'io', 'net/http', 'os', ...(body === undefined ? [] : ['strings'])]
  return `package main

import (
${imports.map((name) => `\t"${name}"`).join('\n')}
)

func main() {
	request, err := http.NewRequest("${verb}", os.Getenv("VERDICT_URL")+"${path}", ${reader})
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("VERDICT_API_KEY"))${type}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	fmt.Println(response.StatusCode, string(body))
}`
}

/** A raw string; a backtick within it is a string of its own. */
const inGo = (text: string) => `\`${text.replaceAll('`', '` + "`" + `')}\``
