# Pnyx. Bare `make` prints what there is.

GO       ?= go
BIN      := bin/pnyx
LINT     := $(shell $(GO) env GOPATH)/bin/golangci-lint
LINT_VERSION := v2.15.0

# The race detector needs a C compiler; without one the tests run without it.
RACE     := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo -race)

# What pnyx version says. BUILT is empty unless given: the same source makes the same bytes.
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT   ?= $(shell git rev-parse HEAD 2>/dev/null)
BUILT    ?=

# No C compiler is needed; only the race detector of the tests needs one. What loads the
# embedded ClickHouse needs the C library of the system: -tags static leaves it out.
BUILD    := CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X pnyx/cmd.version=$(VERSION) -X pnyx/cmd.commit=$(COMMIT) -X pnyx/cmd.built=$(BUILT)"

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this help
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

.PHONY: run
run: engine ## Build, and serve everything with demonstration data on http://127.0.0.1:8080
	@$(BIN) serve --demo

.PHONY: run-edge
run-edge: build nginx ## Run nginx as a cache before `make run`, on http://127.0.0.1:8000
	@$(BIN) edge

.PHONY: build
build: ## Build bin/pnyx
	@mkdir -p bin
	@[ -x $(BIN) ] || $(BUILD) -v -o $(BIN) . 2>&1 | $(PROGRESS)
	@$(BUILD) -o $(BIN) .

# Tells every thirty packages that go build -v prints, and all other lines.
PROGRESS = { n=$${n:-0}; while read -r line; do case "$$line" in *[!A-Za-z0-9./_~-]*) echo "$$line" ;; \
  *) n=$$((n + 1)); [ $$((n % 30)) != 0 ] || echo "compiled $$n packages of $$($(GO) list -deps . | wc -l)" ;; esac; done; }

# Before the first build, what fetches the engine: the download goes on while the compiler works.
# What fails here is tried again by build and engine, which say why.
.PHONY: first
first:
	@[ -x $(BIN) ] || { mkdir -p bin; \
	  free=$$(df -Pk . "$$HOME" | awk 'NR > 1 { print int($$4 / 1024) }' | sort -n | head -1); \
	  [ "$$free" -ge $(FIRST_MB) ] || echo "$$free MB of disk are free: the first build takes $(FIRST_MB)"; \
	  $(BUILD) -v -o bin/fetch ./warehouse/engine/fetch 2>&1 | $(PROGRESS); bin/fetch & \
	  n=$$($(GO) list -deps ./warehouse/engine/fetch | wc -l); $(BUILD) -v -o $(BIN) . 2>&1 | $(PROGRESS); wait; rm -f bin/fetch; }
FIRST_MB := 3000

.PHONY: static
static: ## Build bin/pnyx-static, for images: without the embedded ClickHouse, and with nothing else to need
	@mkdir -p bin
	@$(BUILD) -tags static -o bin/pnyx-static .

.PHONY: secrets
secrets: ## Write new secrets for compose.yaml to .env, which keeps those that it has
	@umask 077; { [ ! -e .env ] || awk 1 .env || exit; for name in PNYX_INTERNAL_TOKEN REDIS_PASSWORD CLICKHOUSE_OWNER_PASSWORD CLICKHOUSE_PASSWORD \
	  CLICKHOUSE_RECORDS_PASSWORD ANALYST_PASSWORD; do \
	  grep -qs "^$$name=." .env || echo "$$name=$$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"; done; } > .env.new && mv .env.new .env

.PHONY: engine
engine: first build ## Fetch the embedded ClickHouse, once (178 MB)
	@$(BIN) engine

# Tests write databases that live for seconds: in memory, where there are 12 GB of it, an engine takes a quarter less
# processor time, and Go a fifth less when it collects garbage more seldom.
MEMORY   = $(shell awk '/^MemAvailable/ { has = $$2 > 12e6 } END { exit !has }' /proc/meminfo 2>/dev/null && \
  df -Pk /dev/shm 2>/dev/null | awk 'END { exit !($$4 > 12e6) }' && ! grep -q ' /dev/shm .*noexec' /proc/mounts && echo TMPDIR=/dev/shm GOGC=400)

# What is installed has to run: a test that needs it fails instead of being skipped. The
# program under test is the one that make has built, without the race detector.
TESTED   = $(MEMORY) PNYX_TEST_BINARY=$(CURDIR)/$(BIN) PNYX_TEST_REQUIRE_ENGINE=1 \
  PNYX_TEST_REQUIRE_REDIS=$$(command -v redis-server >/dev/null && echo 1) \
  PNYX_TEST_REQUIRE_BROWSER=$$(command -v chromium >/dev/null && echo 1) \
  PNYX_TEST_REQUIRE_MYPY=$$(command -v mypy >/dev/null && echo 1) \
  PNYX_TEST_REQUIRE_NGINX=$$([ -e $(NGINX_LUA) ] && echo 1)

# Tests wait for other processes most of the time: more of them, and of packages, run at once than there are
# processors. make lint vets what they are made of.
PARALLEL := 3
FLAGS    := -trimpath -vet=off -p $(PARALLEL) -parallel $(PARALLEL) -timeout 30m
# As the program is built: what make build has compiled is not compiled again, and no C linker runs.
TEST     := CGO_ENABLED=0 $(GO) test $(FLAGS)
# Packages whose tests take longest begin first: none of them runs alone in the end.
LARGE    := ./worker ./warehouse ./test/e2e

.PHONY: test
test: engine redis npm nginx ## Run the tests on the real engine and a real Redis; test-long has the others
	@$(TESTED) $(TEST) $(LARGE) ./...

# The race detector takes twice the time: it runs where a test's name says that things run at the same time, but for
# tests of other processes.
AT_ONCE  := [A-Za-z]*(Concurren|AtOnce|While|Together)
LONG      = $(TESTED) PNYX_TEST_LONG=1
# Packages with a test whose name matches.
PACKAGES  = grep -rlE --include='*_test.go' --exclude-dir=node_modules --exclude-dir=bench --exclude-dir=k8s '^func Test$(1)' . | \
  xargs -n1 dirname | sort -u

.PHONY: test-long
test-long: engine redis browser npm mypy nginx ## Run what takes long (browsers, other languages, large data, crashes, upgrades), and with the race detector what runs concurrently
	@$(LONG) $(TEST) -run '^TestLong' ./test/e2e $$($(call PACKAGES,Long)) & long=$$!; \
	  $(LONG) $(GO) test $(FLAGS) -p 1 $(RACE) -run '^Test$(AT_ONCE)' $$($(call PACKAGES,$(AT_ONCE)) | grep -v '^./test/'); races=$$?; \
	  wait $$long && exit $$races

.PHONY: test-fast
test-fast: ## Run the tests that need neither engine nor server: half a minute, once they are compiled
	@CGO_ENABLED=0 $(GO) test -trimpath -short ./...

.PHONY: test-abuse
test-abuse: engine redis nginx ## Run what attackers try: metering, smuggling, floods, slow callers
	@for module in . k8s/check; do (cd $$module && \
	  packages=$$($(GO) list -f '{{range .TestGoFiles}}{{$$.Dir}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$.Dir}}/{{.}} {{end}}' ./... | \
	    xargs grep -l '^func TestAttack' | xargs -n1 dirname | sort -u) && \
	  $(TESTED) $(GO) test -timeout 15m -run '^TestAttack' $$packages) || exit 1; done

.PHONY: test-x402
test-x402: engine ## Let the published x402 client pay, over HTTP and MCP and a chain of its own (npm, 430 MB)
	@cd access/x402/e2e && npm ci --silent && PNYX=$(CURDIR)/$(BIN) npm test --silent

FOR := 10m
.PHONY: test-sources
test-sources: engine redis ## Follow a hub, Tally and a forum, and a chain of real contracts with reorganizations (PNYX_TEST_CHAIN_LAB=folder)
	@$(TESTED) PNYX_TEST_LONG=1 $(GO) test -parallel 6 -timeout 30m -v -run '^TestLong(Upstreams|TheLab)' ./test/e2e ./follow/chain

.PHONY: follow-drill
follow-drill: engine redis ## Kill followers, engine and Redis and break a hub, a chain and a forum that are followed, for FOR=10m (SEED=… repeats one): nothing is lost
	@PNYX_TEST_BINARY=$(CURDIR)/$(BIN) PNYX_TEST_FOLLOW=$(or $(FOR),10m) PNYX_TEST_SEED=$(SEED) \
	  $(GO) test -count=1 -v -timeout 24h -run 'TestFollow$$' ./test/drills

.PHONY: follow-lag
follow-lag: engine ## Make each kind of change twenty times at simulated upstreams, and print how long it takes to the warehouse
	@PNYX_TEST_FOLLOW_LAG=1 $(GO) test -count=1 -v -timeout 1h -run TestLagOfEachChange ./follow

.PHONY: follow-sim
follow-sim: FOR := 24h
follow-sim: engine ## Follow a thousand simulated DAOs for FOR=24h of simulated time: lags, requests and memory
	@PNYX_TEST_FOLLOW_SIM=$(FOR) $(GO) test -count=1 -v -timeout 24h -run TestThousandDAOs ./follow

.PHONY: test-drills
test-drills: engine redis ## Break what Pnyx depends on, under load, and renew test/results/drills.md (DRILLS=Redis for some; half an hour)
	@PNYX_TEST_BINARY=$(CURDIR)/$(BIN) PNYX_TEST_DRILLS=$(CURDIR)/test/results/drills.md \
	  $(GO) test -count=1 -v -timeout 3h -run 'TestDrills/$(DRILLS)' ./test/drills

.PHONY: test-histories
test-histories: engine redis nginx ## Record what clients see while everything breaks, for FOR=10m, check it against models, and renew test/results/histories.md (SEED=… repeats one)
	@PNYX_TEST_BINARY=$(CURDIR)/$(BIN) PNYX_TEST_HISTORIES=$(or $(FOR),10m) PNYX_TEST_SEED=$(SEED) \
	  PNYX_TEST_HISTORY_BUILD=$(VERSION) \
	  $(GO) test -count=1 -v -timeout 48h -run 'TestHistories$$' ./test/drills

.PHONY: test-mirror
test-mirror: engine redis nginx ## Let docs/examples/mirror follow the changes while everything breaks, for FOR=10m, compare it with crawls, and renew test/results/mirror.md (SEED=… repeats one)
	@PNYX_TEST_BINARY=$(CURDIR)/$(BIN) PNYX_TEST_MIRROR=$(or $(FOR),10m) PNYX_TEST_SEED=$(SEED) \
	  PNYX_TEST_MIRROR_REPORT=$(CURDIR)/test/results/mirror.md \
	  $(GO) test -count=1 -v -timeout 48h -run 'TestMirror$$' ./test/drills

.PHONY: test-day-one
test-day-one: FOR := 1h
test-day-one: engine redis npm ## Let the day-one programs keep copies, exports and alerts of a DAO that changes for FOR=1h, with restarts
	@$(TESTED) PNYX_TEST_LONG=1 PNYX_TEST_DAY_ONE=$(FOR) $(GO) test -count=1 -v -timeout 24h -run '^TestLongDayOne$$' ./test/e2e

.PHONY: test-mutations
test-mutations: engine redis nginx ## Try each model of histories on a Pnyx with a fault in its code, which it has to find
	@test/histories/mutations/run.sh $(MUTATIONS)

# The version before: its tag or, where a checkout has no tags, the last build before this edition.
FROM = $(or $(shell git describe --tags --abbrev=0 HEAD^ 2>/dev/null),7fb40c7)
.PHONY: test-upgrade
test-upgrade: engine redis nginx ## Upgrade from FROM (the last tag), roll back and upgrade again under load, and renew test/results/upgrades.md (ten minutes)
	@PNYX_TEST_BINARY=$(CURDIR)/$(BIN) PNYX_TEST_UPGRADE=$(CURDIR)/test/results/upgrades.md PNYX_TEST_UPGRADE_FROM=$(FROM) \
	  $(GO) test -count=1 -v -timeout 1h -run TestUpgrade ./test/drills
	@PNYX_TEST_BINARY=$(CURDIR)/$(BIN) PNYX_TEST_UPGRADE_FROM=$(FROM) $(GO) test -count=1 -v -timeout 1h -run TestUpgradeTellsWhatChanged ./test/e2e

.PHONY: soak
soak: engine redis nginx ## Run everything for an hour while parts break, fail on growth, and renew test/results/soak.md (SOAK=5m, BALLOTS=30000, SEED=…)
	@PNYX_TEST_BINARY=$(CURDIR)/$(BIN) PNYX_TEST_SOAK=$(or $(SOAK),1h) PNYX_TEST_SOAK_BALLOTS=$(BALLOTS) PNYX_TEST_SEED=$(SEED) \
	  PNYX_TEST_SOAK_REPORT=$(CURDIR)/test/results/soak.md $(GO) test -count=1 -v -timeout 30h -run 'TestSoak$$' ./test/drills

.PHONY: flood
flood: engine redis ## Flood a node beside honest callers, fail where these notice, and renew test/results/flood.md (FLOOD=5s for less)
	@PNYX_TEST_BINARY=$(CURDIR)/$(BIN) PNYX_TEST_FLOOD=$(or $(FLOOD),30s) PNYX_TEST_FLOOD_REPORT=$(CURDIR)/test/results/flood.md \
	  $(GO) test -count=1 -v -timeout 1h -run TestFlood ./test/drills

.PHONY: test-edge
test-edge: nginx ## Let a hundred thousand requests and changes interleave at the edge
	@PNYX_TEST_REQUIRE_NGINX=1 PNYX_TEST_EDGE_STEPS=100000 $(GO) test -count 1 -timeout 60m -v -run TestConcurrentReadsAreAuthorizedAndCountedExactly ./edge

.PHONY: redis
redis:
	@command -v redis-server >/dev/null || { \
	  command -v apt-get >/dev/null || { echo "no redis-server: tests that need one are skipped"; exit 0; }; \
	  echo "installing redis-server for the tests"; \
	  $$([ "$$(id -u)" = 0 ] || echo sudo) sh -c 'apt-get update -qq && apt-get install -y -qq redis-server >/dev/null'; }

.PHONY: browser
browser:
	@command -v chromium >/dev/null || { \
	  command -v apt-get >/dev/null || { echo "no chromium: the tests of the reference are skipped"; exit 0; }; \
	  echo "installing chromium for the tests"; \
	  $$([ "$$(id -u)" = 0 ] || echo sudo) sh -c 'apt-get update -qq && apt-get install -y -qq chromium >/dev/null'; }

.PHONY: mypy
mypy:
	@command -v mypy >/dev/null || { \
	  command -v apt-get >/dev/null || { echo "no mypy: the client for Python is not checked"; exit 0; }; \
	  echo "installing mypy for the tests"; \
	  $$([ "$$(id -u)" = 0 ] || echo sudo) sh -c 'apt-get update -qq && apt-get install -y -qq mypy >/dev/null'; }

NGINX_LUA := /usr/lib/nginx/modules/ngx_http_lua_module.so

.PHONY: nginx
nginx:
	@[ -e $(NGINX_LUA) ] || { \
	  command -v apt-get >/dev/null || { echo "no nginx: the edge does not run, and its tests are skipped"; exit 0; }; \
	  echo "installing nginx for the edge"; \
	  $$([ "$$(id -u)" = 0 ] || echo sudo) sh -c 'apt-get update -qq && apt-get install -y -qq nginx libnginx-mod-http-lua >/dev/null'; }

.PHONY: npm
npm: reference/npm/node_modules/.package-lock.json mcp/e2e/node_modules/.package-lock.json worker/webhook/npm/node_modules/.package-lock.json test/e2e/npm/node_modules/.package-lock.json

%/node_modules/.package-lock.json: %/package-lock.json
	@command -v npm >/dev/null || { echo "no npm: tests with packages of npm are skipped"; exit 0; }; \
	  cd $* && timeout 300 npm ci --no-progress --loglevel=error || echo "npm ci: tests with packages of $* are skipped"

.PHONY: k8s-check
k8s-check: ## Build manifests and chart, and hold them against Kubernetes' types, rules and each other
	@cd k8s/check && $(GO) test ./...

.PHONY: openapi-lint
openapi-lint: npm ## Lint the OpenAPI document, and make a client of it
	@cd reference/npm && npm run -s lint && npm run -s client

# With the flags of the build, what has been compiled for one is there for the other.
.PHONY: lint
lint: weight ## Run the linters
	@[ -x $(LINT) ] && $(LINT) version 2>/dev/null | grep -q '$(LINT_VERSION:v%=%)' || \
	  { echo "building golangci-lint $(LINT_VERSION)"; \
	    $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION); }
	@for module in . test/bench docs/examples/dayone k8s/check; do (cd $$module && CGO_ENABLED=0 GOFLAGS=-trimpath $(LINT) run -c $(CURDIR)/.golangci.yml ./...) || exit 1; done

GOVULNCHECK := $(shell $(GO) env GOPATH)/bin/govulncheck

# Exit status 3 is a weakness that the program reaches.
.PHONY: vulncheck
vulncheck: ## Look for known weaknesses in the code that the program calls (VULN_DB=address of a copy of the database)
	@[ -x $(GOVULNCHECK) ] || GOFLAGS= $(GO) install golang.org/x/vuln/cmd/govulncheck@v1.9.0 || \
	  { echo "govulncheck cannot be built: skipped"; exit 0; }; \
	found=$$(timeout 300 $(GOVULNCHECK) $(if $(VULN_DB),-db $(VULN_DB)) ./... 2>&1); status=$$?; case "$$status $$found" in \
	  "0 "*) echo "govulncheck: none known";; \
	  "1 "*"fetching vulnerabilities"*|"124 "*) echo "govulncheck: its database is out of reach: skipped";; \
	  *) echo "$$found"; exit "$$status";; esac

.PHONY: weight
weight: ## Count code, tests, documents and methods, and hold them against test/weight/budget.txt
	@test/weight/weight.sh

GORELEASER := $(shell $(GO) env GOPATH)/bin/goreleaser
CYCLONEDX := $(shell $(GO) env GOPATH)/bin/cyclonedx-gomod

# A commit with a tag is that version, another one a snapshot, which is not published.
.PHONY: release
release: ## Build archives, checksums and SBOMs into dist, and images where Docker is at hand (PUBLISH=1 publishes a tag)
	@[ -x $(GORELEASER) ] || { echo "building GoReleaser: the first time takes minutes"; GOFLAGS= $(GO) install github.com/goreleaser/goreleaser/v2@v2.15.1; }
	@[ -x $(CYCLONEDX) ] || GOFLAGS= $(GO) install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 || \
	  echo "no cyclonedx-gomod: the SBOMs are skipped"
	@PATH="$$($(GO) env GOPATH)/bin:$$PATH" VERSION=$(VERSION) COMMIT=$(COMMIT) $(GORELEASER) release --clean \
	  $$([ -x $(CYCLONEDX) ] || echo --skip=sbom) \
	  $(if $(PUBLISH),,$$(git describe --exact-match --tags >/dev/null 2>&1 && echo --skip=publish || echo --snapshot))
	@if docker info >/dev/null 2>&1; then for target in "" edge; do \
	  docker build $${target:+--target $$target} --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) \
	    -t pnyx$${target:+-$$target}:$(VERSION:v%=%) . || exit 1; done; \
	  else echo "no Docker: the images pnyx and pnyx-edge are skipped"; fi

.PHONY: test-release
test-release: engine release ## Install the archive of this platform in an empty root, and start it there
	@PNYX_TEST_RELEASE=$(CURDIR)/dist PNYX_TEST_REQUIRE_ENGINE=1 $(GO) test -count=1 -v -run TestAReleaseAnswersFromAnEmptyRoot ./test/e2e

.PHONY: alerts-check
alerts-check: ## Check the alert rules and try each of them (needs promtool, of Debian's prometheus)
	@command -v promtool >/dev/null || { echo "no promtool: apt-get install prometheus"; exit 1; }
	@promtool check config observe/prometheus.yml && promtool test rules observe/rules_test.yml

.PHONY: docs-check
docs-check: engine redis nginx ## Run every command of the documents, and compare what it prints with what they show
	@$(TESTED) PNYX_TEST_LONG=1 $(GO) test -count=1 ./test/docs
	@$(TESTED) PNYX_TEST_LONG=1 $(GO) test -count=1 -run TestLongAnalysts ./test/e2e

.PHONY: alerts-soak
alerts-soak: engine redis nginx ## Run Prometheus beside healthy deployments for half an hour (ALERTS=5m for less): no alert fires, all panels show
	@PNYX_TEST_BINARY=$(CURDIR)/$(BIN) PNYX_TEST_ALERTS=$(or $(ALERTS),30m) \
	  $(GO) test -count=1 -v -timeout 30h -run TestAlerts ./test/drills

.PHONY: first-hour
first-hour: ## Measure how long newcomer, partner, analyst and SRE take from nothing to a first answer (FIRST_HOUR=sre for one)
	@test/first-hour.sh $(FIRST_HOUR)

.PHONY: docs
docs: build ## Renew the generated parts of the documents
	@$(BIN) openapi --docs docs
	@[ ! -f observe/rules.yml ] || { printf '%s\n' '# Made of observe/rules.yml by make docs.' 'apiVersion: monitoring.coreos.com/v1' \
	  'kind: PrometheusRule' 'metadata:' '  name: pnyx' 'spec:'; sed 's/^./  &/' observe/rules.yml; } > k8s/components/monitoring/rules.yaml
	@cd k8s/check && $(GO) test -count=1 -run TestTheTemplatesAreMadeOfTheManifests -update . >/dev/null

.PHONY: pictures
pictures: engine browser ## Renew the pictures of /explore in docs/pictures
	@$(TESTED) PNYX_TEST_PICTURES=$(CURDIR)/docs/pictures $(GO) test -count=1 -run TestPicturesOf ./test/e2e

.PHONY: bench
bench: engine bench-tools nginx ## Compare with baselines, and write test/results/bench.md (half an hour; BENCH=quick: ten minutes)
	@cd test/bench && $(BUILD) -mod=mod -o ../../bin/pnyx-bench .
	@bin/pnyx-bench $(if $(filter quick,$(BENCH)),-quick) $(BENCH_FLAGS)

SCALE := 1,5,20
.PHONY: bench-scale
bench-scale: engine bench-tools ## Measure how everything grows, and write test/results/scale.md (SCALE=1,5,20 million ballots; SCALE_FLAGS="-within 2h")
	@cd test/bench && $(BUILD) -mod=mod -o ../../bin/pnyx-bench .
	@bin/pnyx-bench scale -sizes $(SCALE) $(SCALE_FLAGS)

.PHONY: bench-tools
bench-tools:
	@missing=; for tool in redis-server:redis-server redis-benchmark:redis-tools wrk:wrk nginx:nginx-light; do \
	  command -v $${tool%:*} >/dev/null || PATH=$$PATH:/usr/sbin command -v $${tool%:*} >/dev/null || missing="$$missing $${tool#*:}"; done; \
	  [ -z "$$missing" ] || { echo "installing$$missing for the benchmarks"; \
	  $$([ "$$(id -u)" = 0 ] || echo sudo) sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null"; }

.PHONY: clean
clean: ## Remove what was built
	@rm -rf bin

# The folder that pnyx uses; tokens and payments cannot be imported again.
DATA := $(or $(PNYX_DATA),data)

.PHONY: clean-data
clean-data: ## Remove the data folder with everything in it, tokens and payments too; asks first
	@[ -d '$(DATA)' ] || { echo 'there is no folder $(DATA)'; exit 0; }; \
	  printf 'Remove %s with its data, tokens and payments? [y/N] ' '$(DATA)'; \
	  read -r answer; [ "$$answer" = y ] || { echo 'nothing was removed'; exit 1; }; rm -rf -- '$(DATA)'
