#!/bin/sh
# Counts what the repository weighs and holds it against budget.txt, which says what the columns
# are, or another file of that form. Only files that git knows count.
set -eu
budget=$(realpath "${1:-$(dirname "$0")/budget.txt}")
cd "$(dirname "$0")/../.."
go_files() { git ls-files '*.go'; }
lines() { xargs cat | wc -l; }
documents() { git ls-files '*.md' | grep -vE '^(docs/adr/|reference/templates/|test/results/)'; }
{
  echo shipped "$(go_files | grep -vE '_test\.go$|^(test|demo|docs/examples)/' | xargs grep -L '^// Code generated' | lines)"
  echo tests "$(go_files | grep '_test\.go$' | lines)"
  echo machinery "$(go_files | grep '^test/' | grep -v '_test\.go$' | lines)"
  echo words "$( (documents; git ls-files docs/adr) | xargs cat | wc -w)"
  echo documents "$(documents | wc -l)"
  echo decisions "$(git ls-files 'docs/adr/0*.md' | wc -l)"
  git ls-files | awk '{ if (!sub("/[^/]*$", "")) $0 = "."; n[$0]++ } END { for (f in n) print "folder:" f, n[f] }'
  go_files | grep -v '_test\.go$' | xargs awk '/^func \(/ {
      folder = FILENAME; sub("/[^/]*$", "", folder)
      type = $0; sub(/^func \(/, "", type); sub(/\).*/, "", type); sub(/^.* /, "", type); gsub(/^\*|\[.*/, "", type)
      n[folder "." type]++ } END { for (t in n) print "methods:" t, n[t] }'
} | sort | awk '
  NR == FNR { sub(/#.*/, "") }
  NR == FNR && $1 == "+" { if ($4 == "landed") raised[$2] += $3; next }
  NR == FNR { if (NF) { goal[$1] = $2; allowed[$1] = $3 } next }
  { kind = $1; sub(/:.*/, "", kind); seen[$1] = 1
    g = ($1 in goal ? goal[$1] : goal[kind]) + raised[kind]
    a = $1 in allowed ? allowed[$1] + ($1 == kind ? raised[kind] : 0) : g; if (a < g) a = g
    if ($1 == kind || $2 > g) printf "%-38s %7d  goal %6d%s\n", $1, $2, g, (a > g ? "  allowed " a : "")
    if ($2 > a * 1.05) { printf "%s: %d is more than 5 %% above %d: take something out\n", $1, $2, a; failed = 1 }
    if (a > g && $2 < a * 0.95) { printf "%s: %d: lower what is allowed, %d, in test/weight/budget.txt\n", $1, $2, a; failed = 1 } }
  END { for (m in goal) if (m ~ /:/ && !(m in seen)) { printf "%s is gone: remove its line from test/weight/budget.txt\n", m; failed = 1 }
    exit failed }' "$budget" -
