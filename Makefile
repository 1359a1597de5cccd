.POSIX:
.SUFFIXES:

HARDWARE = hardware/this-machine.yaml
PROFILE = profiles/quick.yaml
VMS = /var/tmp/drivestone-vms

.PHONY: help run build dist test test-vms lint

help:
	@echo 'make run     install what is missing, build, and measure this directory with the quick profile'
	@echo '             (another one: make run HARDWARE=hardware/X.yaml PROFILE=profiles/Y.yaml)'
	@echo 'make build   build the static release binary'
	@echo 'make dist    build it, check that it is static, and leave it in dist/ with its checksum'
	@echo 'make test    install what is missing, and run every test'
	@echo 'make test-vms  tests with virtual machines: needs root, installs QEMU and a libvirt of their own;'
	@echo '             works below $(VMS), some 20 minutes where there is no KVM'
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

test-vms:
	@sh .ci/prepare tests
	@sh tests/vms/run $(VMS)

lint:
	@sh .ci/prepare build
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --test vms -- -D warnings
