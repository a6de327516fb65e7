"""The synchronous client."""

# Generated from `_async` by `npm run gen`. Do not edit.
