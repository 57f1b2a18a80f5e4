# Volant: make help lists what can be done. Everything installs its own needs,
# and says what is missing where it cannot.
SHELL := /bin/bash
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X volant/wire.Build=$(VERSION) -X main.version=$(VERSION)
BUILD := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)'
AGENTS := amd64 arm64
CACHE := $(CURDIR)/.cache
# ansible-core, the reference and the source of the Python modules.
REFERENCE := $(CACHE)/reference
T ?= 30s
PKG ?= ./...

.PHONY: build demo test e2e diff cores modules race lint fuzz chaos soak golden docs bench bench-data bench-links bench-templates bench-language conformance cover clean help needs reference

build: needs ## static bin/volant (agents inside), bin/volant-agent, bin/volant-lab, bin/volant-corpus
	@mkdir -p bin dist/agents
	@for arch in $(AGENTS); do \
		GOOS=linux GOARCH=$$arch $(BUILD) -o dist/agents/volant-agent-linux-$$arch ./cmd/volant-agent || exit 1; \
	done
	@rm -rf cmd/volant/agents
	@$(GO) run ./bootstrap/pack $(VERSION) cmd/volant/agents $(foreach a,$(AGENTS),$(a)=dist/agents/volant-agent-linux-$(a))
	$(BUILD) -tags release -o bin/volant ./cmd/volant
	$(BUILD) -o bin/volant-agent ./cmd/volant-agent
	$(BUILD) -o bin/volant-lab ./cmd/volant-lab
	$(BUILD) -o bin/volant-corpus ./cmd/volant-corpus

demo: build ## several hosts, a playbook through SSH bootstrap and QUIC, twice; recap and metrics; cleans up
	@scripts/demo.sh

test: build reference ## everything that decides whether a change is good, in under 10 minutes
	@scripts/test.sh

e2e: build reference ## end to end on real systemd hosts (root) besides the process lab
	@VOLANT_SYSTEMD_LAB=1 VOLANT_ANSIBLE_CORE=$(REFERENCE) $(GO) test -count=1 -timeout 30m ./e2e/... ./bootstrap/... ./hostagent/become ./cmd/volant-lab/...

diff: build reference ## results, output and hosts beside ansible-core's on two systemd hosts (root, half an hour; VOLANT_DIFF_ONLY=^copy for a part)
	@mkdir -p $(CACHE)/diff
	@VOLANT_SYSTEMD_LAB=1 VOLANT_DIFF=1 VOLANT_DIFF_CACHE=$(CACHE)/diff VOLANT_ANSIBLE_CORE=$(REFERENCE) $(GO) test -count=1 -timeout 3h -run 'TestDiff$$' ./e2e

cores: build reference ## every way a Python module runs, with ansible-core 2.17 to 2.21 and every Python 3.7+ of this machine
	@scripts/cores.sh

modules: reference ## every case of the native modules beside the Python ones (root: users, tables and lists change in a sandbox; 20 minutes)
	@scripts/modules.sh $(REFERENCE) $(CACHE)/collections

race: ## the tests under the race detector
	CGO_ENABLED=1 VOLANT_ANSIBLE_CORE=$(REFERENCE) $(GO) test -race -timeout 30m $(PKG)

lint: ## gofmt, go vet, and golangci-lint where it is installed
	@scripts/lint.sh

fuzz: ## every fuzz target, and templates against ansible-core, for T each (make fuzz T=10m)
	@scripts/fuzz.sh $(T)

chaos: ## random faults against real agents: every sub-task ran once or is reported lost (make chaos SEED=n RUNS=n)
	@scripts/chaos.sh "$(SEED)" "$(RUNS)"

soak: ## the same runs again and again for T: memory, descriptors and goroutines of both ends stay flat (make soak T=10m)
	@scripts/soak.sh $(T)

.PHONY: madeup
madeup: build reference ## made-up projects run with ansible-core and with volant, what differs made small (make madeup SEED=n RUNS=n)
	@VOLANT_ANSIBLE_CORE=$(REFERENCE) $(GO) test ./e2e/madeup -run TestProjects -count=1 -timeout 0 -v -args \
		-madeup.seed $(or $(SEED),1) -madeup.runs $(or $(RUNS),50) -madeup.volant $(CURDIR)/bin/volant

golden: ## rewrite the golden files from what the code does now; read the diff
	$(GO) test ./controller/compile -update
	$(GO) test ./cmd/... ./bootstrap -run 'Document$$' -update

docs: build ## man pages of every program in dist/man
	@for program in volant volant-agent volant-lab volant-corpus; do bin/$$program manual --man dist/man || exit 1; done

bench: build reference ## volant beside ansible-core with pipelining on two systemd hosts (root)
	@scripts/bench.sh

bench-data: build reference ## large directories and files beside ansible-core on a systemd host (root; FILES=n SCALE=x ONLY=regexp)
	@scripts/bench-data.sh

bench-links: build ## connects, memory a link, reconnect storm with 1,000 and 10,000 simulated agents; 100 hosts bootstrapped (SIZES="1000" COLD=0 for less)
	@scripts/bench-links.sh

bench-templates: reference ## a template rendered here, by Jinja2 and by ansible-core, as a table
	@VOLANT_ANSIBLE_CORE=$(REFERENCE) $(GO) test ./controller/template/difftest -run TestSpeed -count=1 -v -args -difftest.speed

bench-language: build reference ## start-up, 10,000 hosts, includes and look-ups beside ansible-core (QUICK=1: the slow ones of ours alone)
	@bin/volant shims .cache/shims >/dev/null && VOLANT_ANSIBLE_CORE=$(REFERENCE) python3 scripts/bench-language.py .cache/shims $(REFERENCE)/bin $(QUICK)

conformance: build reference ## ansible-core's own integration targets (TARGETS="a b"); with CORPUS=DIR recorded cases
	@scripts/conformance.sh "$(CORPUS)" $(TARGETS)

cover: ## test coverage as dist/cover.html
	@mkdir -p dist
	$(GO) test -coverprofile=dist/cover.out $(PKG) && $(GO) tool cover -html=dist/cover.out -o dist/cover.html

needs:
	@scripts/needs.sh

reference: ## ansible-core in a virtual environment of its own under .cache
	@scripts/reference.sh $(REFERENCE)

clean: ## remove what was built
	rm -rf bin dist cmd/volant/agents

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
