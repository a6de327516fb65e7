// Loaded before the API: when the process that started it is gone, the API ends as if it had been told to.
process.once('disconnect', () => process.emit('SIGTERM', 'SIGTERM'))
