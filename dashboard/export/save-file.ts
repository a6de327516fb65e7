/** Hands a file to the browser, which saves it under this name. */
export function saveFile(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob)
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  URL.revokeObjectURL(url)
}
