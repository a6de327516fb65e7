"""The asynchronous client. `npm run gen` writes the synchronous one, `_sync`, from it."""
