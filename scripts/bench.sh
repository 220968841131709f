#!/usr/bin/env bash
# Runs the Go benchmarks with allocations.
#
#   scripts/bench.sh                       all of them
#   scripts/bench.sh ./projections         of one package
#   BENCH=List COUNT=5 scripts/bench.sh    those with List in their name, five times
#
# Compare two runs with benchstat (golang.org/x/perf/cmd/benchstat).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then set -- ./...; fi
exec go test -run '^$' -bench "${BENCH:-.}" -benchmem -count "${COUNT:-1}" -timeout 60m "$@"
