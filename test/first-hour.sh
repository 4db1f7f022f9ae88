#!/usr/bin/env bash
# first-hour measures how long each of four kinds of user takes from a clean machine to a
# first right answer: a new clone, without modules, build cache, engine or data. It follows
# the documents, prints a line a user, and exits with 1 if one takes longer than its limit.
# It uses the default addresses, so nothing else may serve there.
#
#   test/first-hour.sh [newcomer|partner|analyst|sre …]
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
users=("$@")
[ ${#users[@]} -gt 0 ] || users=(newcomer partner analyst sre)
declare -A limits=([newcomer]=120 [partner]=180 [analyst]=180 [sre]=300)

fail() { echo "first-hour: $*" >&2; exit 1; }

# await repeats a command until it succeeds, for five minutes.
await() {
  for _ in $(seq 1500); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done
  fail "never true: $*"
}

start() {
  make run >run.log 2>&1 &
  await curl -sf http://127.0.0.1:8081/readyz
}

# The first answer is the README's.
newcomer() {
  start
  curl -sf http://127.0.0.1:8080/v2/daos/alderfold | grep -q '"totalVotingPower":"9641049913.052988647641930135"' ||
    fail "another answer than the README's"
}

# A token opens a paid route.
partner() {
  start
  token=$(bin/pnyx token issue --name ACME --plan business --scopes v2:paid:plus)
  curl -sf -H "x-service-api-token: $token" 'http://127.0.0.1:8080/v2/daos/alderfold/voters?limit=1' | grep -q '"rank":1' ||
    fail "the new token opens nothing"
}

# Files of one's own are imported, and a first question has the right answer. Upstream may state
# more votes than the ballots that are held.
analyst() {
  make build engine
  bin/pnyx generate --seed 7 --daos 2 --proposals 30 --ballots 3000 --largest 500 files
  bin/pnyx import files
  counted=$(bin/pnyx sql --format TSV 'SELECT sum(held_votes) FROM vote_summaries')
  cast=$(bin/pnyx sql --format TSV 'SELECT count() FROM ballots')
  [ "$counted" = "$cast" ] && [ "$cast" -gt 2000 ] || fail "results hold $counted votes, and there are $cast ballots"
}

# Prometheus scrapes, and the panels of both dashboards have data.
sre() {
  command -v prometheus >/dev/null ||
    $([ "$(id -u)" = 0 ] || echo sudo) sh -c 'apt-get update -qq && apt-get install -y -qq prometheus >/dev/null'
  start
  prometheus --config.file=observe/prometheus.yml --storage.tsdb.path=data/prometheus >prometheus.log 2>&1 &
  await traffic_is_drawn
  for panel in $(panels observe/analysts.json rawSql); do
    rows=$(bin/pnyx sql --format TSV "$(base64 -d <<<"$panel" |
      sed -E 's/\$\{dao:singlequote\}/SELECT dao_id FROM daos/g; s/\$__timeFilter\([a-z_.]+\)/1/g; s/\$__[a-zA-Z]+/1/g')" | wc -l)
    [ "$rows" -gt 0 ] || fail "a panel of observe/analysts.json is empty"
  done
}

# panels prints the queries of a dashboard, one a line in base64.
panels() {
  node -e 'const seen = p => [...(p.panels || []).flatMap(seen), ...(p.targets || []).map(t => t[process.argv[2]])]
    for (const query of seen(JSON.parse(require("fs").readFileSync(process.argv[1])))) console.log(Buffer.from(query).toString("base64"))' "$1" "$2"
}

# traffic_is_drawn sends a request, and succeeds once requests, latency and publication are
# drawn: panels about what has not happened yet stay empty.
traffic_is_drawn() {
  curl -s http://127.0.0.1:8080/v2/daos
  drawn=0
  for panel in $(panels observe/dashboard.json expr); do
    query=$(base64 -d <<<"$panel" | sed 's/\$instance/.*/g; s/\$__rate_interval/1m/g')
    curl -s http://127.0.0.1:9090/api/v1/query --data-urlencode "query=$query" | grep -q '"value":' && drawn=$((drawn + 1))
  done
  [ "$drawn" -ge 30 ]
}

# from_nothing runs what a user does in a folder, as on a machine that has nothing yet.
from_nothing() {
  export HOME=$2/home GOPATH=$2/go GOCACHE=$2/build GOFLAGS=-modcacherw XDG_CACHE_HOME=$2/cache
  mkdir -p "$HOME"
  set -m # a process group for each job, so that what it has started ends with it
  trap 'for job in $(jobs -p); do kill -- "-$job"; done 2>/dev/null; wait' EXIT
  git clone -q "$repository" "$2/pnyx"
  cd "$2/pnyx"
  "$1"
}

for user in "${users[@]}"; do
  folder=$(mktemp -d)
  began=$SECONDS
  set +e
  (set -e; from_nothing "$user" "$folder") >"$folder/log" 2>&1
  status=$? took=$((SECONDS - began))
  set -e
  [ "$status" -eq 0 ] || { tail -20 "$folder/log" >&2; fail "$user got no answer"; }
  printf '%-9s %4d s of %d\n' "$user" "$took" "${limits[$user]}"
  [ "$took" -le "${limits[$user]}" ] || slow=$user
  rm -rf "$folder"
done
[ -z "${slow:-}" ] || fail "$slow takes too long"
