/** Words that no table has. */
export const GIBBERISH: readonly string[] = [
  'Blorple.',
  'Frobnicate the quux, then snarf.',
  'Zibble zabble',
  'Geoblocked',
  'REJECT rule 17',
  'Vruk melgor takkan',
  'Plugh: xyzzy',
  'Quorble (wibble)',
  'Нюкабрь',
  'ψξφ',
  'Snorf ann@example.net',
  'Krelboyne at mx7.example.net',
]
