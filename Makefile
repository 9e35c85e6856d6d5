# Thermocline. Two commands do everything: make demo, make test.

export CGO_ENABLED = 0
# Java names files in the locale's encoding: partitions may have any letters.
export LC_ALL = C.UTF-8
export GOFLAGS += -tags=gms_pure_go
SHELL = /bin/bash
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# Packages whose code runs concurrently; make test runs them with -race too.
RACE = ./connector/... ./scan/... ./server/admission/... ./server/exec/... ./server/session/... ./server/mysql/... ./ingest/...

.PHONY: build deps test test-go test-race test-dml test-spill test-laws logictest test-tpcds interop interop-read interop-random interop-histories lint fuzz demo bench bench-cdc bench-paimon bench-sql bench-large bench-plan endurance clean

build: ## the binary, bin/thermocline
	@mkdir -p bin
	go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/thermocline ./cmd/thermocline

deps: ## installs what the tests need
	@.ci/deps >/dev/null

test: ## everything that must pass: needs nothing installed by hand
	@eval "$$(.ci/deps)"; export THERMOCLINE_TOOLS=required; \
	$(MAKE) --no-print-directory test-go && $(MAKE) --no-print-directory test-race

test-go: ## all packages
	go test -count=1 -timeout 20m ./...

test-race: ## the concurrent packages under the race detector, their short tests
	CGO_ENABLED=1 go test -count=1 -short -race -timeout 20m $(RACE)

JAVA_PAIMON = $(abspath ../shared/oracles/paimon-java/paimon-java)
interop: ## Java Paimon reads and writes the same tables; needs ../shared and Java
	THERMOCLINE_PAIMON_JAVA=$(JAVA_PAIMON) go test -count=1 -timeout 20m -run 'TestJava' ./connector/paimon/... ./server/session
	@eval "$$(.ci/deps)"; THERMOCLINE_PAIMON_JAVA=$(JAVA_PAIMON) go test -count=1 -timeout 20m -run 'TestDemoOnce' ./cmd/thermocline

interop-read: ## every table that Java Paimon wrote, read in SQL, equals Java's rows; checks docs/paimon-support.md; needs ../shared
	THERMOCLINE_SHARED=required go test -count=1 -run 'TestInteropRead' -v ./cmd/thermocline

DML_SCRIPTS ?= 200
test-dml: ## DML_SCRIPTS random scripts of INSERT, UPDATE, DELETE …, compared with MariaDB, or the MySQL of THERMOCLINE_MYSQL_DSN
	@eval "$$(.ci/deps)"; THERMOCLINE_DML_SCRIPTS=$(DML_SCRIPTS) go test -count=1 -timeout 120m -run 'TestChangesLikeMySQL' ./server/mysql

logictest: ## all 25,000 queries of the logic tests over Paimon tables; make test runs a tenth; needs ../shared
	THERMOCLINE_SHARED=required THERMOCLINE_LOGICTEST=all go test -count=1 -timeout 120m -run 'TestLogic$$' -v ./server/session

test-spill: build ## the 22 queries of TPC-H at scale factor SF within MEMORY a query: the published answers with spilling, without it those that need more name the limit; needs ../shared
	go run ./benchmarks/spill --sf $(SF) --memory $(MEMORY)

CLIENTS ?= 100
.PHONY: test-clients
test-clients: build ## all 22 queries of TPC-H and the 43 of ClickBench over the MySQL port within 2 GiB for the whole process, alone and by CLIENTS clients at a time: none fails; needs ../shared; BENCH="--sf 0.1 --rows 1000000" is short
	go run ./benchmarks/sql --clients $(CLIENTS) --memory-limit 2GiB --binary bin/thermocline $(BENCH)

test-laws: ## queries of TPC-H, of TPC-DS, of the semantics corpus and of the logic tests give the same rows whatever the batches, threads, spilling, pruning and compaction; make test runs a sample; needs ../shared
	@eval "$$(.ci/deps)"; export THERMOCLINE_SHARED=required THERMOCLINE_LAWS=all; \
	go test -count=1 -timeout 120m -run 'TestSettings' -v ./server/exec && go test -count=1 -timeout 120m -run 'TestSemanticSettings' -v ./server/mysql && \
	THERMOCLINE_LOGICTEST=all go test -count=1 -timeout 600m -run 'TestTPCDS$$|TestLogic$$' ./server/session

MEMORY ?= 256MiB
SF ?= 1
test-tpcds: ## the 99 queries of TPC-DS at scale factor SF (0.01, 0.1 or 1) equal DuckDB's answers; make test has 0.01; needs ../shared
	@eval "$$(.ci/deps)"; d=$${XDG_CACHE_HOME:-$$HOME/.cache}/thermocline-tpcds-$(SF); \
	[ -f "$$d/scale" ] || "$$THERMOCLINE_PYMYSQL" .ci/tpcds.py "$$d" $(SF); \
	THERMOCLINE_SHARED=required THERMOCLINE_TPCDS="$$d" go test -count=1 -timeout 6h -run 'TestTPCDS$$' -v ./server/session

N ?= 1000
SEED ?= 1
.PHONY: sqlfuzz
sqlfuzz: build ## N random statements, compared with a private MySQL 9.7; needs ../shared
	@eval "$$(.ci/deps)"; .ci/sqlfuzz $(N) $(SEED)

interop-random: ## N random tables that Java Paimon makes read equal after every snapshot (seconds each); needs ../shared and Java
	THERMOCLINE_PAIMON_JAVA=$(JAVA_PAIMON) THERMOCLINE_RANDOM_TABLES=$(N) THERMOCLINE_RANDOM_SEED=$(SEED) THERMOCLINE_RANDOM_STEPS=0 go test -count=1 -timeout 48h -run 'TestJavaRandom' -v ./connector/paimon

interop-histories: ## N random histories, ours, begun by Java and ended by Java; needs ../shared and Java
	THERMOCLINE_PAIMON_JAVA=$(JAVA_PAIMON) THERMOCLINE_HISTORIES=$(N) THERMOCLINE_RANDOM_SEED=$(SEED) THERMOCLINE_RANDOM_STEPS=0 go test -count=1 -timeout 48h -run 'TestJavaHistories' -v ./connector/paimon

lint: ## gofmt, go vet, staticcheck
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "not gofmt-ed: $$out"; exit 1; fi
	go vet ./...
	@eval "$$(.ci/deps)"; "$$STATICCHECK" ./...

FUZZTIME ?= 60s
fuzz: ## every fuzz target for FUZZTIME each
	@for pkg in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s $$pkg || exit 1; \
	  done; \
	done

demo: ## the main job on a private MariaDB; ONCE=1 checks and exits
	@.ci/deps demo || echo "MariaDB could not be installed: the demo uses its built-in generator"
	@$(MAKE) --no-print-directory build
	bin/thermocline demo $(if $(ONCE),--once)

bench: build ## the figures of docs/BENCHMARKS.md
	go run ./benchmarks/skeleton --binary bin/thermocline

bench-cdc: build ## first copy and catching up of a pipeline from MariaDB; BENCH="--rows 200000 --changes 50000" is short; --fresh measures freshness instead
	go run ./benchmarks/cdc --binary bin/thermocline $(BENCH)

bench-paimon: ## merging, deletion vectors, writing and compaction, beside Java Paimon and pypaimon
	@eval "$$(.ci/deps)"; THERMOCLINE_PAIMON_JAVA=$$(ls $(JAVA_PAIMON) 2>/dev/null) go run ./benchmarks/paimon $(BENCH)

bench-sql: build ## the queries of TPC-H SF1 and of ClickBench on 10 M rows, beside DuckDB on the same files; a profile of each in bin/profiles; needs ../shared; BENCH="--sf 0.1 --rows 1000000" is short
	go run ./benchmarks/sql --binary bin/thermocline --profile bin/profiles --out benchmarks/RESULTS.md $(BENCH)

.PHONY: bench-wire
bench-wire: build ## the MySQL port: SELECT 1, a row of 10 M by its key, LIMIT 10, 1 M rows to a client that takes them; BENCH="--keys 1000000" is short
	go run ./benchmarks/wire --binary bin/thermocline $(BENCH)

bench-large: ## TPC-H SF10 beside DuckDB, and the time for a row from SF 1 to 10; needs ../shared and 20 GB of disk
	go run ./benchmarks/sql --sf 10 --rows 0 --out benchmarks/RESULTS.md $(BENCH)
	go run ./benchmarks/sql --growth 1,10 --out benchmarks/RESULTS.md $(BENCH)

.PHONY: bench-growth
bench-growth: ## TPC-H at SF 0.1 and 1: the time for a row may rise by a quarter; needs ../shared
	go run ./benchmarks/sql --growth 0.1,1 --out benchmarks/RESULTS.md $(BENCH)

.PHONY: bench-threads
bench-threads: ## joins and aggregates of TPC-H SF1 and ClickBench on 10 M rows with one thread and with two; on idle cores only; needs ../shared
	go run ./benchmarks/sql --scaling 1,2 --out benchmarks/RESULTS.md $(BENCH)

.PHONY: bench-write bench-commits
bench-write: build ## memory of 10 M rows written into primary-key tables and compacted, under 512 MiB
	go run ./benchmarks/paimon --memory --binary bin/thermocline $(BENCH)

COMMITS ?= 30000
bench-commits: ## COMMITS commits of ten rows, with maintenance beside them
	@dir=$$(mktemp -d) && go run ./benchmarks/paimon --child commits -- $$dir $(COMMITS); code=$$?; rm -rf $$dir; exit $$code

bench-plan: ## planning scans of tables of 10,000 and 1,000,000 data files
	THERMOCLINE_BENCH=full go test -run '^$$' -bench BenchmarkPlan -benchtime 3x -timeout 30m ./connector/paimon

MINUTES ?= 60
endurance: build ## an hour and more of kills, writers side by side and a steady load; every row is checked
	go run ./benchmarks/endurance kills --binary bin/thermocline --kills 100
	go run ./benchmarks/endurance writers --binary bin/thermocline --duration 5m
	@eval "$$(.ci/deps)"; go run ./benchmarks/endurance writers --binary bin/thermocline --duration 5m --versitygw "$$THERMOCLINE_VERSITYGW"
	go run ./benchmarks/endurance java --binary bin/thermocline --duration 5m --java $(JAVA_PAIMON)
	go run ./benchmarks/endurance steady --binary bin/thermocline --duration $(MINUTES)m
	go run ./benchmarks/endurance feed --binary bin/thermocline
	go run ./benchmarks/endurance feed --binary bin/thermocline --tables 1000 --active 5 --rows 100 --rate 100 --duration 5m

KILLS ?= 200
RESTARTS ?= 20
.PHONY: nemesis test-cdc
test-cdc: ## all tests of pipelines against MariaDB, and against a private MySQL 9.7; needs ../shared
	@eval "$$(.ci/deps)"; export THERMOCLINE_TOOLS=required THERMOCLINE_SHARED=required; go test -count=1 -timeout 60m ./ingest/... || exit 1; \
	dir=$$(mktemp -d) && ../shared/oracles/mysql/mysql.sh start $$dir $(MYSQL_PORT) --innodb-buffer-pool-size=64M --max-connections=200 || exit 1; \
	THERMOCLINE_MYSQL_PORT=$(MYSQL_PORT) go test -p 1 -count=1 -timeout 60m ./ingest/...; code=$$?; ../shared/oracles/mysql/mysql.sh stop $$dir; rm -rf $$dir; exit $$code

MYSQL_PORT ?= 13397
nemesis: build ## a pipeline killed KILLS times, its MariaDB restarted RESTARTS times, connections cut, the object store failing; NEMESIS="--seed 7 --rate 500" says more
	@eval "$$(.ci/deps)"; go run ./benchmarks/endurance nemesis --binary bin/thermocline --kills $(KILLS) --restarts $(RESTARTS) --versitygw "$$THERMOCLINE_VERSITYGW" $(NEMESIS)

.PHONY: bench-cancel
bench-cancel: build ## how long statements go on after KILL QUERY, max_execution_time and clients that go away, operator by operator
	go run ./benchmarks/endurance cancel --binary bin/thermocline $(BENCH)

clean:
	rm -rf bin lake
