# Every target needs only Go and make, but for race, bench and ci, which need a C compiler, and lint-api, which needs npx.
export CGO_ENABLED ?= 0
SOAK_ROUNDS ?= 100
FUZZ_TIME ?= 60s

.PHONY: help build demo test race client lint-api bench soak fuzz ci clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ./prospector
	go build -o prospector .

demo: build ## build and serve a demo organization, with a key and three requests to paste
	./prospector demo

test: ## run all tests
	go test ./...

race: ## run all tests with the race detector; test has vetted the same files
	CGO_ENABLED=1 go test -race -vet off -timeout 15m ./...

client: ## make a Go client from the API document with oapi-codegen, and run it against the demo
	cd internal/clienttest && go test -count 1 .

lint-api: ## show what Redocly's linter says of the API document
	cd internal/clienttest && PROSPECTOR_LINT=1 go test -count 1 -run TestLint -v .

bench: ## measure lists against SQLite, writing and enrolling against bare bbolt and bleve, webhooks against a bare loop, simulating against a list; SIZE=1000000 for a million contacts
	cd internal/bench && CGO_ENABLED=1 go test -tags sqlite_fts5 -run '^$$' -bench . -benchtime 1x -timeout 2h .

fuzz: ## fuzz the strict decoder, the reader of tables, the filter compiler, the list engine, research, the URL check of webhooks, the planner and messages for FUZZ_TIME each
	go test ./internal/shape -run '^$$' -fuzz FuzzParseObject -fuzztime $(FUZZ_TIME)
	go test ./internal/rows -run '^$$' -fuzz FuzzCSV -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x
	go test ./internal/rows -run '^$$' -fuzz FuzzGuard -fuzztime $(FUZZ_TIME)
	go test ./internal/filter -run '^$$' -fuzz FuzzCompile -fuzztime $(FUZZ_TIME)
	go test ./index -run '^$$' -fuzz FuzzAgreement -fuzztime $(FUZZ_TIME)
	go test ./internal/research/offline -run '^$$' -fuzz FuzzResearch -fuzztime $(FUZZ_TIME)
	go test ./internal/research/openai -run '^$$' -fuzz FuzzAnswer -fuzztime $(FUZZ_TIME)
	go test ./internal/webhook -run '^$$' -fuzz FuzzCheckURL -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x
	go test ./internal/planner -run '^$$' -fuzz FuzzPlan -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x
	go test ./internal/mail -run '^$$' -fuzz FuzzMessage -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x

soak: fuzz ## kill the server SOAK_ROUNDS times while clients write, after fuzzing
	PROSPECTOR_SOAK=$(SOAK_ROUNDS) go test ./handlers -run TestPreviewReference -count 1 -timeout 4h -v
	PROSPECTOR_SOAK=$(SOAK_ROUNDS) go test ./cmd -run TestKill9 -count 1 -timeout 4h -v

ci: ## what CI runs
	.ci/run

clean: ## remove the binary and the demo's data
	rm -rf prospector demo-data
