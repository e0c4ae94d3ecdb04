#!/usr/bin/env bash
# install_deps on a machine that it is told to be bare: commands of apt and dpkg that only pretend.
# shellcheck disable=SC2016  # the bodies of the fakes expand when they run
set -euo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/repo/scripts"
cp "$source_dir/scripts/install_deps" "$work/repo/scripts/"

fail() { echo "FAILED: $*" >&2; exit 1; }
# fake NAME BODY: a command of that name that runs BODY
fake() { printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"; chmod +x "$work/bin/$1"; }
run() { PATH="$work/bin:$PATH" "$work/repo/scripts/install_deps" "$@"; }

fake apt-get "echo \"apt-get \$*\" >>'$work/calls'; exit 1"
fake sudo 'exit 1'

# Nothing is installed.
fake dpkg-query 'exit 1'
out=$(run --check --fuzz --dry-run)
for package in cmake libsqlitecpp-dev catch2 libhwy-dev clang-16; do
  grep -q "would install: .*\b$package\b" <<<"$out" || fail "$package is not named: $out"
done
grep -q 'if it can be had: .*clang-format' <<<"$out" || fail "clang-format is not optional: $out"
grep -q 'headers of valijson' <<<"$out" || fail "valijson is not named: $out"
[[ ! -e $work/calls ]] || fail "a dry run called: $(cat "$work/calls")"

# One package is missing.
fake dpkg-query 'shift 2; for p; do [[ $p == catch2 ]] || echo "installed $p"; done'
out=$(run --dry-run)
grep -qx 'install_deps: would install: catch2' <<<"$out" || fail "not just catch2: $out"

# Without rights it says what to ask for and ends with 4.
fake id 'echo 1000'
status=0
out=$(run </dev/null 2>&1) || status=$?
[[ $status == 4 ]] || fail "without rights it ended with $status"
grep -q 'apt-get install catch2' <<<"$out" || fail "no advice without rights: $out"
[[ ! -e $work/calls ]] || fail "without rights it called: $(cat "$work/calls")"

# Everything is there: nothing is called.
fake dpkg-query 'shift 2; for p; do echo "installed $p"; done'
mkdir -p "$work/repo/.deps/valijson/include/valijson"
touch "$work/repo/.deps/valijson/include/valijson/validator.hpp"
out=$(run --check)
[[ $out == "install_deps: everything is there" ]] || fail "not everything: $out"
[[ ! -e $work/calls ]] || fail "with everything there it called: $(cat "$work/calls")"

status=0
run --nonsense >/dev/null 2>&1 || status=$?
[[ $status == 2 ]] || fail "an unknown option ended with $status"
