import type { Site } from './attempt.ts'
import type { SiteLimits } from './engine-limits.ts'

/** Limits of a site; each that is absent keeps its default. */
export interface ShapedSite extends Partial<SiteLimits> {
  /** The end of its exchangers' names, or a recipient domain. */
  site: string
}

const DEFAULT: SiteLimits = { connections: 25, messages: 100 }

/** The limits on the providers' postmaster pages, or a cautious guess without one. */
export const PROVIDERS: readonly ShapedSite[] = [
  { site: 'google.com', connections: 10, messages: 50 },
  { site: 'googlemail.com', connections: 10, messages: 50 },
  { site: 'outlook.com', connections: 10, messages: 50 },
  { site: 'mx.microsoft', connections: 10, messages: 50 },
  { site: 'yahoodns.net', connections: 10, messages: 20 },
  { site: 'icloud.com', connections: 10, messages: 5 },
  { site: 'mimecast.com', connections: 10, messages: 100 },
  { site: 'comcast.net', connections: 25, messages: 100 },
  { site: 'orange.fr', connections: 3, messages: 100 },
]

/** The provider that an exchanger belongs to; undefined for all others. */
export function providerOf(mx: string): string | undefined {
  return PROVIDERS.find(({ site }) => mx === site || mx.endsWith(`.${site}`))?.site
}

/** What shaping says of a site. */
export interface Shape {
  limits: SiteLimits
  /** The row's name: a provider. Absent for a site without a row. */
  provider?: string
  /** The row names a recipient domain, which is limited apart from its provider. */
  isOwnSite: boolean
}

export type ShapeOf = (site: Site, domain: string) => Shape

const UNSHAPED: Shape = { limits: DEFAULT, isOwnSite: false }

/** Looks up sites among `rows` and the providers' defaults. The row with the longest name that fits a site decides. */
export function createShaping(rows: readonly ShapedSite[]): ShapeOf {
  const shapes = new Map<string, Shape>()
  const given = new Map([...PROVIDERS, ...rows].map((row) => [row.site, row]))
  for (const { site, ...limits } of given.values()) {
    const provider = PROVIDERS.find((row) => row.site === site)
    const { site: _, ...defaults } = provider ?? { site }
    shapes.set(site, { limits: { ...DEFAULT, ...defaults, ...limits }, provider: site, isOwnSite: false })
  }
  const ofDomains = new Map(
    rows.flatMap(({ site }) => {
      const shape = shapes.get(site)
      return shape ? [[site, { ...shape, isOwnSite: true }]] : []
    }),
  )

  return ({ hosts }, domain) => {
    const shape = hosts.reduce<Shape | undefined>((found, { name }) => found ?? shapeOfHost(name), undefined)
    const ofDomain = ofDomains.get(domain)
    return ofDomain && ofDomain.provider !== shape?.provider ? ofDomain : (shape ?? UNSHAPED)
  }

  function shapeOfHost(name: string): Shape | undefined {
    for (let end = name; end !== ''; end = end.slice(end.indexOf('.') + 1)) {
      const shape = shapes.get(end)
      if (shape || !end.includes('.')) return shape
    }
    return undefined
  }
}
