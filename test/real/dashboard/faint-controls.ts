/**
 * Runs in a page: the fields and switches whose edge or surface is hardly seen, in a line each. WCAG 2.2 1.4.11 asks
 * for a contrast of 3 to 1, which axe does not measure.
 */
export const FAINT_CONTROLS = `(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const painted = (...colors) => {
    for (const color of colors) {
      canvas.fillStyle = color
      canvas.fillRect(0, 0, 1, 1)
    }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
  }
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((octet) => octet / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }
  const parentsOf = (element) => (element.parentElement ? [...parentsOf(element.parentElement), element.parentElement] : [])
  const contrastAt = (element) => {
    const behind = ['white', ...parentsOf(element).map((parent) => getComputedStyle(parent).backgroundColor)]
    const style = getComputedStyle(element)
    const edge = Number.parseFloat(style.borderBottomWidth) > 0 ? style.borderBottomColor : 'transparent'
    return Math.max(...[style.backgroundColor, edge].map((color) => contrast(painted(...behind, color), painted(...behind))))
  }
  // The edge of a field may be that of a box around it, as high as a field.
  const boxesOf = (element) => [element, ...parentsOf(element).filter((parent) => parent.offsetHeight <= 48)]
  const contrastOf = (element) => Math.max(...boxesOf(element).map(contrastAt))
  const controls = 'input:not([type=hidden], [role=switch]), select, textarea, .mantine-Switch-track'
  return [...document.querySelectorAll(controls)]
    .filter((element) => element.checkVisibility({ opacityProperty: true }) && !element.closest(':disabled, [data-disabled]'))
    .map((element) => ({ element, contrast: contrastOf(element) }))
    .filter(({ contrast }) => contrast < 3)
    .map(({ element, contrast }) =>
      contrast.toFixed(2) + ' to 1: ' + (element.labels?.[0]?.textContent || element.ariaLabel || element.className))
})()`
