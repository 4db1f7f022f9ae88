#!/usr/bin/env bash
# Builds Pnyx once with each fault of this folder, records a history of it, and fails if the
# model that a fault is named after finds nothing. Arguments name some of the faults.
set -euo pipefail
cd "$(dirname "$0")/../../.."
work=$(mktemp -d)
trap 'git worktree remove --force "$work/copy" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/copy" HEAD
go test -c -o "$work/drills.test" ./test/drills
missed=()
for patch in test/histories/mutations/*.patch; do
  model=$(basename "$patch" .patch)
  [[ $# -eq 0 || " $* " == *" $model "* ]] || continue
  git -C "$work/copy" checkout --quiet .
  git -C "$work/copy" apply "$PWD/$patch"
  (cd "$work/copy" && CGO_ENABLED=0 go build -trimpath -o "$work/pnyx" .)
  found=
  # A fault may stay unseen in one history: the clients' luck decides. The remainder of a seed by
  # five is the kind: one Redis, and for sources one with live sources.
  first=0
  [[ $model != sources ]] || first=4
  for seed in $first $((first + 5)) $((first + 10)); do
    (cd test/drills && PNYX_TEST_BINARY="$work/pnyx" PNYX_TEST_HISTORIES=1ns PNYX_TEST_SEED=$seed PNYX_TEST_HISTORY_FAULTS=1 \
      "$work/drills.test" -test.v -test.timeout 15m -test.run 'TestHistories$') > "$work/log" 2>&1 || true
    if grep -q "go:[0-9]*: $model: " "$work/log"; then
      found=1
      break
    fi
  done
  if [[ $found ]]; then
    echo "$model: found: $(grep -o "$model: .*" "$work/log" | head -1 | cut -c 1-200)"
  else
    echo "$model: not found"
    grep 'history_' "$work/log" | cut -c 1-300 | tail -5
    missed+=("$model")
  fi
done
[[ ${#missed[@]} -eq 0 ]]
