# Tarn's targets. The first call of any sets the machine up (Debian 12, as root or with passwordless sudo); later calls
# work offline.
#
#   make build      build/tarn, build/libtarn.so, build/libtarn.a
#   make demo       a pipeline in ./demo: a change feed, a table that follows it, sums that follow the table; killed, and right
#   make test       all that needs no JVM, also under AddressSanitizer and ThreadSanitizer
#   make interop    Java and the Python peers against us
#   make bench      the same rows for us and each peer: CPU, wall, memory
#   make soak       the long runs: damaged files, killed writers, random tables, walks, each fuzzer for SOAK_SECONDS (3600)
#   make install    PREFIX=/usr/local DESTDIR=
#   make clean      remove build folders and demo (not .deps)

PREFIX ?= /usr/local
SOAK_SECONDS ?= 3600
export SOAK_SECONDS

.PHONY: build demo test interop bench soak install format clean
build:
	@tools/make-target build

demo test interop bench soak:
	@tools/make-target $@

install: build
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

format:
	@tools/check_format --fix

clean:
	rm -rf build build-asan build-tsan build-fuzz demo
