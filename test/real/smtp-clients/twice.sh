# Runs a command, and once more unless its failure is final. Prints what it told.
for try in 1 2; do
  text=$("$@" 2>&1 < "${CONTENT:-/dev/null}") && { echo sent; exit 0; }
  text=$(printf '%s' "$text" | tr -s '\r\n' ' ')
  echo "failed $text"
  printf '%s' "$text" | grep -qE '(^|[^0-9])5[0-9][0-9] 5\.' && exit 0
done
exit 0
