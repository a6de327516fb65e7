import { IconMenu2 } from '@tabler/icons-react'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import styles from './frame.module.css'
import { Rail } from './rail.tsx'
import { SearchBox } from './search-box.tsx'
import { useFrameKeys } from './use-frame-keys.ts'

const RailSheet = lazy(async () => ({ default: (await import('./rail-sheet.tsx')).RailSheet }))
const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))
const KeyList = lazy(async () => ({ default: (await import('./key-list.tsx')).KeyList }))

/** The frame of every page of an account. On a narrow screen the rail is a sheet behind a button. */
export function Frame({ children }: { children: ReactNode }) {
  const [railOpen, setRailOpen] = useState(false)
  const [keysOpen, setKeysOpen] = useState(false)
  const [paletteOpen, setPaletteOpen] = useState(false)
  useFrameKeys({ showKeys: () => setKeysOpen(true), showPalette: () => setPaletteOpen(true) })
  return (
    <div className={styles.frame}>
      <a href="#page" className={styles.skip}>
        Skip to the page
      </a>
      <aside className={styles.side}>
        <Rail />
      </aside>
      <div className={styles.body}>
        <div className={styles.bar}>
          <button
            type="button"
            className={styles.railButton}
            aria-label="Open the menu"
            aria-expanded={railOpen}
            onClick={() => setRailOpen(true)}
          >
            <IconMenu2 size={20} aria-hidden />
          </button>
          <SearchBox />
          <button
            type="button"
            className={styles.keysButton}
            onClick={() => setKeysOpen(true)}
            aria-label="Show the keys"
          >
            <kbd>?</kbd>
          </button>
        </div>
        <main id="page" tabIndex={-1} className={styles.page}>
          {children}
        </main>
      </div>
      <Suspense>
        {railOpen && <RailSheet onClose={() => setRailOpen(false)} />}
        {paletteOpen && <Palette onClose={() => setPaletteOpen(false)} onShowKeys={() => setKeysOpen(true)} />}
        {keysOpen && <KeyList onClose={() => setKeysOpen(false)} />}
      </Suspense>
    </div>
  )
}
