const meta = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')

/** The nonce of this response: the policy of the pages allows only style elements that carry it. */
export const nonce = meta?.nonce ?? ''

// react-remove-scroll, which Mantine's dialogs use, reads the nonce of its style element here.
Object.assign(globalThis, { __webpack_nonce__: nonce })
