# Every target needs only Go and make, except race, bench and ci, which need a C compiler, and lint-api, which needs npx.
# client also tests a TypeScript client if node and npm are installed; check-console also needs npm and browser chromium, and
# both say so where it is missing.
export CGO_ENABLED ?= 0
SOAK_ROUNDS ?= 100
FUZZ_TIME ?= 60s

.PHONY: help build release demo test test-fast race lint vuln cover client lint-api check-console browser bench-console screenshots bench soak fuzz ci clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ./prospector
	go build -o prospector .

VERSION ?= $(shell git describe --tags --always --dirty)
release: ## build archives with VERSION for linux (amd64, arm64) and macOS (arm64) into ./release, with checksums
	rm -rf release && mkdir release
	for platform in linux/amd64 linux/arm64 darwin/arm64; do \
		name=prospector-$(VERSION)-$${platform%/*}-$${platform#*/}; mkdir release/$$name && \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -trimpath -ldflags '-s -w -X prospector/internal/service.version=$(VERSION)' -o release/$$name . && \
		cp -r README.md CHANGELOG.md SECURITY.md config.example.yaml docs release/$$name && \
		tar -czf release/$$name.tar.gz -C release $$name && rm -r release/$$name || exit 1; \
	done
	cd release && { command -v sha256sum >/dev/null && sha256sum *.tar.gz || shasum -a 256 *.tar.gz; } >SHA256SUMS && cat SHA256SUMS

demo: build ## run the demo: a campaign at one day per second, then requests to try
	./prospector demo

# make lint runs vet, and without debugging information the many test programs are linked faster.
test: ## run all tests
	go test -vet off -ldflags -w -timeout 20m ./...

# The packages whose tests need no store, server or process.
FAST = ./internal/address ./internal/duplicate ./internal/egress ./internal/fault ./internal/filter ./internal/mail ./internal/match ./internal/password \
	./internal/planner ./internal/rows ./internal/shape ./internal/template ./internal/turn
test-fast: ## run the tests of the packages that compute and store nothing, in less than a minute
	go test -vet off -ldflags -w $(FAST)

RACE ?= ./...
race: ## run all tests with the race detector, or those of the packages RACE
	CGO_ENABLED=1 go test -race -vet off -ldflags -w -timeout 30m $(RACE)

lint: ## check every module with gofmt, go mod tidy and go vet, and the product with staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
		if [ -n "$$unformatted" ]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	cd internal/bench && go mod tidy -diff
	cd internal/clienttest && go mod tidy -diff
	cd .ci/tools && go mod tidy -diff
	go vet ./...
	cd internal/bench && go vet -tags sqlite_fts5 .
	cd internal/clienttest && go vet .
	cd internal/browsertest && go mod tidy -diff && go vet .
	go tool -modfile=.ci/tools/go.mod staticcheck ./...

# The database cannot be reached from everywhere, and that says nothing about the code.
vuln: ## look for known vulnerabilities in what the program calls, if the database of the Go project can be reached
	@if out=$$(go tool -modfile=.ci/tools/go.mod govulncheck ./... 2>&1); then echo "$$out"; \
		else echo "$$out"; echo "$$out" | grep -q 'fetching vulnerabilities' && echo "the database of vulnerabilities cannot be reached, so nothing was looked for"; fi

# The counters are in all packages, so that they are built once and not for each package again.
COVER ?= ./...
cover: ## print how much of each package, or of those in COVER, its own tests cover
	@profile=$$(mktemp) && for p in $$(go list $(COVER) | grep -v 'prospector$$\|test$$'); do \
		go test -vet off -ldflags -w -timeout 30m -coverpkg ./... -coverprofile $$profile $$p >$$profile.log || { cat $$profile.log; exit 1; }; \
		awk -v p=$$p/ 'index($$1, p) == 1 && substr($$1, length(p) + 1) !~ "/" { all += $$2; if ($$3 > 0) covered += $$2 } \
			END { if (all > 0) printf "%5.1f %%  %s\n", 100 * covered / all, p }' $$profile; \
	done; rm -f $$profile $$profile.log

client: ## generate a Go client and, if npm is installed, a TypeScript client from the API document, and run them
	cd internal/clienttest && go test -count 1 -v -run TestClients .

lint-api: ## check the API document with Redocly's linter
	cd internal/clienttest && PROSPECTOR_LINT=1 go test -count 1 -run TestLint -v .

# The types of the API are generated each time and not committed.
CONSOLE = internal/console
API_TYPES = $(CURDIR)/$(CONSOLE)/api
check-console: ## check the format, the types and the style of the console's scripts, if npm is installed
	@if ! command -v npm >/dev/null; then echo "npm is not installed, so the scripts of the console are not checked"; exit 0; fi; \
		npx --yes --package prettier@3.10.1 prettier --check $(CONSOLE)/web/js $(CONSOLE)/web/css $(CONSOLE)/*.mjs $(CONSOLE)/types.d.ts && \
		(cd internal/clienttest && PROSPECTOR_DOCUMENT=$(API_TYPES).json go test -count 1 -run TestDocument .) && \
		npx --yes --package openapi-typescript@7.13.0 --package typescript@5.9.3 openapi-typescript $(API_TYPES).json -o $(API_TYPES).d.ts && \
		npx --yes --package typescript@5.9.3 tsc --noEmit --strict -p $(CONSOLE)/tsconfig.json && \
		npx --yes --package eslint@9.39.1 eslint -c $(CONSOLE)/eslint.config.mjs $(CONSOLE)/web/js && echo "the scripts of the console are sound"

browser: ## test the console in chromium, if it is installed
	cd internal/browsertest && go test -count 1 -timeout 30m .

bench-console: ## measure the console in chromium with 100,000 contacts, and print each value with its budget
	cd internal/browsertest && PROSPECTOR_CONTACTS=100000 go test -count 1 -v -timeout 30m -run 'TestFileBudget|TestNothingTwice|TestTableBudget|TestFirstLoadSpeed|TestTableSpeed|TestMemory' .

screenshots: ## renew the pictures of docs/console.md, and take 24 pictures for review into ./screenshots; needs chromium
	cd internal/browsertest && PROSPECTOR_SCREENSHOTS=$(CURDIR)/docs/images PROSPECTOR_REVIEW=$(CURDIR)/screenshots go test -count 1 -v -run 'TestScreenshots|TestReview' .

bench: ## compare lists, writes, enrolling, webhooks and simulations with simpler solutions; SIZE=1000000 for a million contacts
	cd internal/bench && CGO_ENABLED=1 go test -tags sqlite_fts5 -run '^$$' -bench . -benchtime 1x -timeout 2h .

fuzz: ## run each fuzz test for FUZZ_TIME
	go test ./internal/shape -run '^$$' -fuzz FuzzParseObject -fuzztime $(FUZZ_TIME)
	go test ./internal/rows -run '^$$' -fuzz FuzzCSV -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x
	go test ./internal/rows -run '^$$' -fuzz FuzzSpreadsheet -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x
	go test ./internal/rows -run '^$$' -fuzz FuzzCards -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x
	go test ./internal/rows -run '^$$' -fuzz FuzzEscapeFormula -fuzztime $(FUZZ_TIME)
	go test ./internal/filter -run '^$$' -fuzz FuzzCompile -fuzztime $(FUZZ_TIME)
	go test ./index -run '^$$' -fuzz FuzzAgreement -fuzztime $(FUZZ_TIME)
	go test ./internal/research/openai -run '^$$' -fuzz FuzzAnswer -fuzztime $(FUZZ_TIME)
	go test ./internal/egress -run '^$$' -fuzz FuzzCheckURL -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x
	go test ./internal/planner -run '^$$' -fuzz FuzzPlan -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x
	go test ./internal/mail -run '^$$' -fuzz FuzzMessage -fuzztime $(FUZZ_TIME) -fuzzminimizetime 20x

soak: fuzz ## kill the server SOAK_ROUNDS times while clients write, and damage the store file twice as often
	PROSPECTOR_SOAK=$(SOAK_ROUNDS) go test ./internal/sequence -run 'TestSendingModel|TestEngineThousand|TestEngineMany|TestEngineStopsUndone|TestThrong|TestCorrectModel' -count 1 -timeout 4h -v
	PROSPECTOR_SOAK=$(SOAK_ROUNDS) go test ./internal/tam -run TestPreviewReference -count 1 -timeout 4h -v
	PROSPECTOR_SOAK=$(SOAK_ROUNDS) go test ./internal/outreach -run TestNobodyJoinsByLoss -count 1 -timeout 4h -v
	PROSPECTOR_SOAK=$(SOAK_ROUNDS) go test ./internal/undo -run TestUndoModel -count 1 -timeout 4h -v
	PROSPECTOR_SOAK=$(SOAK_ROUNDS) go test ./internal/crm -run TestMergeModel -count 1 -timeout 4h -v
	PROSPECTOR_SOAK=$(SOAK_ROUNDS) go test ./internal/rows -run 'TestFlatMemory|TestFlatSpreadsheets' -count 1 -timeout 4h -v
	PROSPECTOR_SOAK=$(SOAK_ROUNDS) go test ./index -run 'TestAgreement|TestDamage|TestFlippedSegments|TestRestarts' -count 1 -timeout 4h -v
	PROSPECTOR_SOAK=$(SOAK_ROUNDS) go test ./cmd -run 'TestKill9|TestShortage' -count 1 -timeout 4h -v
	PROSPECTOR_SOAK=$$((2 * $(SOAK_ROUNDS))) go test ./internal/admin -run TestDamagedPages -count 1 -timeout 4h -v

ci: ## run what CI runs
	.ci/run

clean: ## remove the binary, the data of the demo, the coverage and the pictures for review
	rm -rf prospector demo-data screenshots
