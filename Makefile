# make run   builds the program and serves over stdio
# make test  runs all tests and installs what they need
# Both do all the set-up of a clone; Go loads the modules.
.DEFAULT_GOAL := help

GO      ?= go
BIN     := bin/mcp-tools

# A release that is signed has the public key in its programs.
RELEASE_PUBLIC_KEY ?=
GOFLAGS_BUILD := -trimpath -ldflags "-s -w $(if $(RELEASE_PUBLIC_KEY),-X github.com/mcp-tools/mcp-tools/internal/version.publicKey=$(RELEASE_PUBLIC_KEY))"

# modernc.org/sqlite is transpiled C. The race detector makes it several times
# slower, so it instruments everything else. A package with generic code must be
# instrumented: the linker keeps one copy of each instance, and a copy of sync's
# without it reports races that are none.
RACE := -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc/...=-race=false

# The packages whose tests use internal/golden.
GOLDEN = $(shell grep -rl --include=*_test.go mcp-tools/internal/golden . | xargs -n1 dirname | sort -u)

.PHONY: help run build test check bench docs golden fuzz install uninstall release release-check

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 15

# Nothing goes to stdout, because run serves MCP there.
build: ## build bin/mcp-tools, a static binary
	@test -x $(BIN) || echo "building $(BIN), this takes some minutes the first time" >&2
	@CGO_ENABLED=0 $(GO) build $(GOFLAGS_BUILD) -o $(BIN) ./cmd/mcp-tools

run: build ## build and serve over stdio; ARGS="--http 127.0.0.1:8080" for HTTP
	@./$(BIN) serve $(ARGS)

test: ## run all tests, with the race detector, installing what they need
	@.ci/prepare
	@echo "building the tests, this takes some minutes the first time" >&2
	GORACE=atexit_sleep_ms=0 $(GO) test $(RACE) -timeout=45m ./...
	$(GO) test -C testdata/podsecurity .

check: ## formatting, vet, staticcheck, unreachable functions, module file, house rules
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./cmd/... ./internal/... ./server/... ./tools/...
	GOOS=windows $(GO) vet ./cmd/... ./internal/... ./server/... ./tools/...
	$(GO) tool staticcheck ./...
	@dead=$$($(GO) tool deadcode -test ./...) && test -z "$$dead" || { echo "unreachable functions:"; echo "$$dead"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) test ./internal/house

bench: ## measure, compared with bare mcp-go, fork and exec, docker run, ripgrep, fd, FTS5 and a bare GET
	$(GO) test -run '^$$' -bench . -benchmem -timeout 2h -p 1 ./...

docs: ## build the documentation as a static site in site/
	$(GO) run ./internal/docs/build site

golden: ## write the golden files again; look at the diff
	$(GO) test $(GOLDEN) -run '^TestGolden' -update

FUZZTIME ?= 20s
fuzz: ## run every fuzz target for FUZZTIME
	@.ci/fuzz $(FUZZTIME)

PREFIX  ?= /usr/local
DESTDIR ?=
COMPLETIONS = bash:bash-completion/completions/mcp-tools zsh:zsh/site-functions/_mcp-tools \
	fish:fish/vendor_completions.d/mcp-tools.fish
install: build ## install the program, manual pages and completions below PREFIX=/usr/local
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/mcp-tools
	./$(BIN) manual $(DESTDIR)$(PREFIX)/share/man/man1
	@for c in $(COMPLETIONS); do \
		mkdir -p "$$(dirname "$(DESTDIR)$(PREFIX)/share/$${c#*:}")" && \
		./$(BIN) completion "$${c%%:*}" >"$(DESTDIR)$(PREFIX)/share/$${c#*:}" || exit 1; done

uninstall: ## remove what install made
	rm -f $(DESTDIR)$(PREFIX)/bin/mcp-tools $(DESTDIR)$(PREFIX)/share/man/man1/mcp-tools.1 \
		$(DESTDIR)$(PREFIX)/share/man/man1/mcp-tools-*.1 \
		$(foreach c,$(COMPLETIONS),$(DESTDIR)$(PREFIX)/share/$(word 2,$(subst :, ,$(c))))

release: ## build what users install into dist/, from the last commit: archives, packages, images, bundles, lists
	$(GO) run -C internal/release . -from $(CURDIR) -out $(CURDIR)/dist

release-check: release ## try what is in dist/: Debian, images, bundles, Wine, helm; and build it twice
	cd internal/release && test -z "$$(gofmt -l .)" && $(GO) vet . && \
		$(GO) test -count 1 -timeout 2h -v . -args -dist $(CURDIR)/dist
