// The scheme that the person chose in the dashboard, which stores it under this name; otherwise the system decides.
try {
  const scheme = localStorage.getItem('mantine-color-scheme-value')
  if (scheme === 'light' || scheme === 'dark') {
    document.documentElement.style.colorScheme = scheme
    document.documentElement.dataset.scheme = scheme
  }
} catch {
  // A browser without storage uses the scheme of the system.
}
