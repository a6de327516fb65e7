// Haraka has no users of its own: each installation has a plugin that finds them.
exports.hook_rcpt = function (next, _connection, [recipient]) {
  const { domain, users } = this.config.get('users.json')
  if (recipient.host !== domain) return next()
  users.includes(recipient.user) ? next(OK) : next(DENY, 'User unknown')
}
