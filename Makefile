# `make serve` and `make test` work on a fresh Debian 12 with Rust; each target first installs what it lacks.

CARGO ?= cargo
SITE ?= examples/site
BENCH ?=
GARBAGE ?= 100000000
# A build as root in somebody else's tree would leave files that its owner cannot remove.
RUN_AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo -E env "PATH=$$PATH")

.DEFAULT_GOAL := help
.PHONY: help serve install test fuzz-dns bench-web bench-dns bench-memory bench-flood bench-idle bench-bodies bench-stream bench-churn bench-pipeline bench-rates bench-vxlan bench-mux check python deny deps

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: ## Build and serve examples/site on a virtual NIC: curl http://10.77.0.2/
	@scripts/deps build
	@$(CARGO) build --quiet --release --locked --package tidegate-cli
	@exec $(RUN_AS_ROOT) target/release/tidegate web --root $(SITE)

install: library ## Install libtidegate, its header, pkg-config file and manual: PREFIX (/usr/local), DESTDIR
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/install-library target/release/libtidegate.so

.PHONY: library
library:
	@scripts/deps build
	@$(CARGO) build --quiet --release --locked --package tidegate-capi

test: ## Run every test, end to end ones included (as root: they make network namespaces)
	@scripts/deps test
	@scripts/test

fuzz-dns: ## A hundred million damaged queries to the name server; GARBAGE=COUNT for another number
	@scripts/deps build
	@GARBAGE_COUNT=$(GARBAGE) nice $(CARGO) test --quiet --profile garbage --locked --package tidegate-dns --test random_queries -- \
		--nocapture garbage

bench-web: ## Compare with nginx and h2o; BENCH="--quick" for a minute's look
	@scripts/deps bench
	@$(CARGO) build --quiet --release --locked --package tidegate-cli --package tidegate-bench
	@$(RUN_AS_ROOT) target/release/tidegate-bench web $(BENCH)

bench-dns: ## Compare with NSD, Knot and BIND; BENCH="--quick" for two minutes' look, or --zone FILE --queries FILE
bench-memory: ## The stack alone: our client and our server joined in memory
bench-flood: ## A SYN flood beside a normal client
bench-idle: ## A hundred thousand silent connections
bench-bodies: ## Ten thousand files and one of 2 GiB, each checked by its SHA-256, also under loss
bench-stream: ## One bulk stream over a wire that loses, beside the kernel's own TCP
bench-churn: ## A graph changed a thousand times a second under full load: nothing may be lost
bench-pipeline: ## What the pipeline's modules cost, without a kernel
bench-rates: ## How exactly the rate limiter keeps the rates of up to 8,192 flows
bench-vxlan: ## TCP through VXLAN, our TSO and LRO beside the kernel's
bench-mux: ## Many stacks on one NIC: their rates, what a flood leaves to others, an HTTP server over ours and the host's
# A server in C is linked with the library there.
bench-mux: library
# The pipeline's bench runs a build of itself without counters, to show what they cost.
bench-pipeline: uncounted
.PHONY: uncounted
uncounted:
	@scripts/deps bench
	@$(CARGO) build --quiet --release --locked --package tidegate-bench --features uncounted
	@mv target/release/tidegate-bench target/release/tidegate-bench-uncounted

bench-dns bench-memory bench-flood bench-idle bench-bodies bench-stream bench-churn bench-pipeline bench-rates bench-vxlan bench-mux:
	@scripts/deps bench
	@$(CARGO) build --quiet --release --locked --package tidegate-cli --package tidegate-bench
	@$(RUN_AS_ROOT) target/release/tidegate-bench $(@:bench-%=%) $(BENCH)

check: ## Format, lints, licences, types of the Python package
	@scripts/deps build
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@$(MAKE) --no-print-directory deny
	@scripts/python check

python: ## Generate the Python package's files again, after the control protocol changed
	@scripts/deps test
	@scripts/python write

deny: ## Licences and origins of every dependency
	@scripts/deny

deps: ## Install what any target here needs
	@scripts/deps bench
