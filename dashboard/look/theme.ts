import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
} from '@mantine/core'

/** The accent is ink: black on white and white on black. Colour is left to the states. */
const INK: MantineColorsTuple = [
  '#f6f7f8',
  '#e9ebed',
  '#d9dce0',
  '#b9bec5',
  '#8b929c',
  '#6b727d',
  '#515862',
  '#3a4049',
  '#2b3038',
  '#1c2024',
]

const DARK: MantineColorsTuple = [
  '#d6d9dd',
  '#b6bac1',
  '#9aa0a9',
  '#6d737d',
  '#454a53',
  '#33373e',
  '#292d33',
  '#1a1d21',
  '#141619',
  '#0e1012',
]

const TITLE = { title: { fontSize: 16, lineHeight: '24px', fontWeight: 600 } }

const MOTION = { duration: 120 }

/** A dialog's header is no banner of the page. The page would have two when one dialog opens over another. */
const NO_BANNER = { header: { role: 'presentation' } }

export const theme = createTheme({
  colors: { ink: INK, dark: DARK },
  primaryColor: 'ink',
  primaryShade: { light: 9, dark: 1 },
  autoContrast: true,
  defaultRadius: 'sm',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: '12px', sm: '14px', md: '16px', lg: '20px', xl: '28px' },
  spacing: { xs: '8px', sm: '12px', md: '16px', lg: '24px', xl: '32px' },
  fontWeights: { regular: '400', medium: '500', bold: '600' },
  radius: { xs: '4px', sm: '6px', md: '8px', lg: '12px', xl: '16px' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '20px', lineHeight: '28px' },
      h2: { fontSize: '16px', lineHeight: '24px' },
      h3: { fontSize: '14px', lineHeight: '20px' },
    },
  },
  respectReducedMotion: true,
  // Mantine chooses the text of a filled button for the light shade; ours changes with the scheme.
  variantColorResolver(input) {
    const colors = defaultVariantColorsResolver(input)
    const isAccent = input.variant === 'filled' && (input.color === undefined || input.color === 'ink')
    return isAccent ? { ...colors, color: 'var(--mantine-primary-color-contrast)' } : colors
  },
  components: {
    Modal: {
      defaultProps: {
        transitionProps: MOTION,
        centered: true,
        radius: 'md',
        overlayProps: { opacity: 0.5 },
        attributes: NO_BANNER,
      },
      styles: TITLE,
    },
    Drawer: { defaultProps: { transitionProps: MOTION, attributes: NO_BANNER }, styles: TITLE },
    Menu: { defaultProps: { transitionProps: MOTION, shadow: 'md' } },
    Popover: { defaultProps: { transitionProps: MOTION, shadow: 'md' } },
    Tooltip: { defaultProps: { transitionProps: MOTION, openDelay: 200 } },
    InputWrapper: { styles: { label: { marginBottom: 4, lineHeight: '20px' }, description: { lineHeight: '16px' } } },
    Checkbox: { defaultProps: { iconColor: 'var(--mantine-primary-color-contrast)' } },
    Radio: { defaultProps: { iconColor: 'var(--mantine-primary-color-contrast)' } },
    // Mantine's white thumb would not be seen on the pale track of the dark scheme.
    Switch: { styles: { thumb: { '--switch-thumb-bg': 'var(--mantine-primary-color-contrast)' } } },
    CloseButton: { defaultProps: { 'aria-label': 'Close' } },
  },
})

const SURFACES = {
  '--mantine-color-body': 'var(--surface-raised)',
  '--mantine-color-text': 'var(--ink)',
  '--mantine-color-default': 'var(--surface-raised)',
  '--mantine-color-default-hover': 'var(--surface-hover)',
  '--mantine-color-default-border': 'var(--line-strong)',
  '--mantine-color-dimmed': 'var(--ink-faint)',
  '--mantine-color-placeholder': 'var(--ink-faint)',
  '--mantine-color-error': 'var(--error)',
  // The shade of the accent in the dark would make a red button pale under its white text.
  '--mantine-color-red-filled': '#c92a2a',
  '--mantine-color-red-filled-hover': '#b02525',
}

/** Gives Mantine's components the colours of look.css. */
export const cssVariables: CSSVariablesResolver = () => ({ variables: {}, light: SURFACES, dark: SURFACES })
