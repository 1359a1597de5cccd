.POSIX:
.SUFFIXES:

HARDWARE = hardware/this-machine.yaml
PROFILE = profiles/quick.yaml

.PHONY: help run build dist test lint

help:
	@echo 'make run     install what is missing, build, and measure this directory with the quick profile'
	@echo '             (another one: make run HARDWARE=hardware/X.yaml PROFILE=profiles/Y.yaml)'
	@echo 'make build   build the static release binary'
	@echo 'make dist    build it, check that it is static, and leave it in dist/ with its checksum'
	@echo 'make test    install what is missing, and run every test'
	@echo 'make lint    formatting and clippy, warnings are errors'

run:
	@sh .ci/prepare
	cargo build --release --locked
	@cargo run --release --locked --quiet -- run $(HARDWARE) $(PROFILE)

build:
	@sh .ci/prepare build
	cargo build --release --locked

dist:
	@sh .ci/prepare build
	@sh .ci/dist

test:
	@sh .ci/prepare tests
	cargo test --locked

lint:
	@sh .ci/prepare build
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
