import { globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'

// The part of the language rule in CONTRIBUTING.md that a program can check.

/** Folders whose comments do not follow the rule yet. A folder leaves this list as soon as it does. */
const NOT_YET: string[] = []

const WIDTH = 120
const CODE = [
  '{net,mail,server,cli,workflows,dev,bench,fuzz,kills,test}/**/*.{ts,mjs}',
  'client/{*,gen/*}.ts',
  'docs/**/*.{ts,mjs}',
  'proto/verdict/**/*.proto',
  '*.ts',
]
const PROSE = ['*.md', 'client/*.md', 'docs/**/*.md']

interface Line {
  file: string
  number: number
  /** The whole line, with its code. */
  line: string
  /** What the comment or the guide says in this line. */
  text: string
}

/** A line that is all comment, or a comment after code: a URL or a string has no space before its slashes. */
const COMMENT = /^\s*(?:\/\*\*?|\*(?!\/)|\/\/)(?: |$)(?<whole>.*)|\s\/\/ (?<trailing>.*)/

function linesOf(file: string): Line[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line, i) => ({ file, number: i + 1, line, text: line }))
}

function comments(): Line[] {
  return globSync(CODE)
    .flatMap(linesOf)
    .flatMap((line) => {
      const { whole, trailing } = line.line.match(COMMENT)?.groups ?? {}
      const text = whole ?? trailing
      return text === undefined ? [] : [{ ...line, text }]
    })
}

/** The sentences of the guides: code blocks are examples and stay as they are. */
function prose(): Line[] {
  return globSync(PROSE).flatMap((file) => {
    let isCode = false
    return linesOf(file).filter(({ line }) => {
      const isFence = line.trimStart().startsWith('```')
      if (isFence) isCode = !isCode
      return !isCode && !isFence
    })
  })
}

/** Words in quotation marks and in backticks are names, not sentences. */
const spoken = (text: string): string => text.replaceAll(/`[^`]*`|"[^"]*"/g, '')

/** Sentences in which a refused word is right: entries of released versions do not change. */
const EXCEPTIONS = ['All secrets may stand in files']

const breaksBy =
  (words: RegExp) =>
  ({ text }: Line): boolean =>
    words.test(spoken(text)) && !EXCEPTIONS.some((exception) => text.includes(exception))

const COMMENTS = comments()
const SENTENCES = [...COMMENTS, ...prose()]

const RULES: { rule: string; lines: Line[]; breaks: (line: Line) => boolean }[] = [
  { rule: `is wider than ${WIDTH} columns`, lines: COMMENTS, breaks: ({ line }) => line.length > WIDTH },
  { rule: 'begins with "Of"', lines: COMMENTS, breaks: ({ text }) => /^Of /.test(text) },
  {
    rule: 'names a person by "he", "his", "him", "nobody" or "somebody"',
    lines: SENTENCES,
    breaks: breaksBy(/\b(?:he|his|him|nobody|somebody)\b/i),
  },
  {
    rule: 'says "stand" for "is" or "is stored"',
    lines: SENTENCES,
    breaks: breaksBy(/\bstands?\b(?! for\b| by\b|-alone\b)/i),
  },
  { rule: 'says "how far" for progress', lines: SENTENCES, breaks: breaksBy(/\bhow far (?:it|the|a)\b/i) },
  { rule: 'says "of now" for "current"', lines: SENTENCES, breaks: breaksBy(/\bof now\b/i) },
  { rule: 'says "is told" or "are told"', lines: SENTENCES, breaks: breaksBy(/\b(?:is|are) told\b/i) },
  {
    rule: 'says "so many" or "so long" without "that" or "as"',
    lines: SENTENCES,
    breaks: breaksBy(/\bso (?:many|long)\b(?! (?:that|as)\b)/i),
  },
]

/** `mail/smtp` of `mail/smtp/mx.ts`, `test/faults` of `test/faults/quick/keys.process.test.ts`. */
const folderOf = ({ file }: Line): string => dirname(file).split('/').slice(0, 2).join('/')

test.for(RULES)('no comment or sentence of a guide $rule', ({ lines, breaks }) => {
  const broken = lines.filter((line) => !NOT_YET.includes(folderOf(line)) && breaks(line))
  expect(broken.map(({ file, number, text }) => `${file}:${number} ${text.trim()}`)).toEqual([])
})

test('a folder that follows the rules leaves the list of those that do not yet', () => {
  const broken = new Set(RULES.flatMap(({ lines, breaks }) => lines.filter(breaks)).map(folderOf))
  expect(NOT_YET.filter((folder) => !broken.has(folder))).toEqual([])
})
