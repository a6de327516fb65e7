import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** Where `npm run dashboard` sends the calls of the pages: the API that `npm start` runs. */
const API = process.env.PUBLIC_URL ?? 'http://localhost:8080'

// Sign-in accepts only calls from a page of the API's own origin.
const TO_API = { target: API, headers: { origin: API } }

/** HTML of mails. The folder `frame/` of the pages' own code has the same beginning. */
const FRAMES = '^/dashboard/frame/(messages|inbox)/'

/** Browsers that know `light-dark()`, so that the pages need one set of colours only. */
const BROWSERS = ['chrome123', 'edge123', 'firefox120', 'safari17.5']

export default defineConfig({
  root: import.meta.dirname,
  base: '/dashboard/',
  plugins: [react()],
  build: {
    target: BROWSERS,
    cssTarget: BROWSERS,
    // The policy of the pages allows no inline script, and every file that they name is one of ours.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: {
    proxy: {
      '^/api/': TO_API,
      '^/verdict\\.': TO_API,
      '^/docs': TO_API,
      '^/guides': TO_API,
      '^/readyz$': TO_API,
      [FRAMES]: TO_API,
    },
  },
})
