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
fake nvcc 'exit 1'  # a machine with the CUDA toolkit
fake uname 'echo x86_64'
# fake_wheel FOLDER VERSION: what was fetched before
fake_wheel() { mkdir -p "$work/repo/.deps/$1"; echo "$2" >"$work/repo/.deps/$1/version"; }

# Nothing is installed.
fake dpkg-query 'exit 1'
out=$(run --check --fuzz --dry-run)
for package in cmake libsqlitecpp-dev catch2 libhwy-dev clang-16; do
  grep -q "would install: .*\b$package\b" <<<"$out" || fail "$package is not named: $out"
done
grep -q 'if it can be had: .*clang-format' <<<"$out" || fail "clang-format is not optional: $out"
grep -q 'headers of valijson' <<<"$out" || fail "valijson is not named: $out"
grep -q 'would fetch by pip: cudnn_frontend flashinfer clang_tidy$' <<<"$out" || fail "no wheels: $out"
! run --dry-run | grep clang_tidy || fail "clang-tidy without --check"
fake uname 'echo aarch64'
! run --check --dry-run | grep clang_tidy || fail "a clang-tidy for another architecture"
fake uname 'echo x86_64'
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

# A package that the release does not have costs no other one.
fake id 'echo 0'
fake dpkg-query 'shift 2; for p; do case $p in clang-format|chromium) ;; *) echo "installed $p" ;; esac; done'
fake apt-get "echo \"apt-get \$*\" >>'$work/calls'; [[ \$* != *clang-format* ]]"
mkdir -p "$work/repo/.deps/valijson/include/valijson"
touch "$work/repo/.deps/valijson/include/valijson/validator.hpp"
fake_wheel cudnn_frontend 1.32.0
fake_wheel flashinfer 0.5.3
fake_wheel clang_tidy 22.1.8
out=$(run --check)
grep -qx 'install_deps: left out, apt-get failed: clang-format' <<<"$out" || fail "not told that it is left out: $out"
grep -q 'install .* chromium$' "$work/calls" || fail "chromium was left out, too: $(cat "$work/calls")"
rm -r "$work/calls" "$work/repo/.deps/valijson"
fake id 'echo 1000'

# Everything is there: nothing is called.
fake dpkg-query 'shift 2; for p; do echo "installed $p"; done'
mkdir -p "$work/repo/.deps/valijson/include/valijson"
touch "$work/repo/.deps/valijson/include/valijson/validator.hpp"
fake_wheel cudnn_frontend 1.32.0
fake_wheel flashinfer 0.0.1
out=$(run --check --dry-run)
[[ $out == "install_deps: would fetch by pip: flashinfer" ]] || fail "old: $out"
fake_wheel flashinfer 0.5.3
out=$(run --check)
[[ $out == "install_deps: everything is there" ]] || fail "not everything: $out"
[[ ! -e $work/calls ]] || fail "with everything there it called: $(cat "$work/calls")"

# What does not match its checksum is not used, and is no reason to fail.
fake_wheel flashinfer 0.0.1
fake python3 'while [[ $# -gt 0 ]]; do [[ $1 == -d ]] && echo no wheel >"$2/x.whl"; shift; done'
out=$(run --check 2>&1) || fail "a wrong wheel ended with $?"
grep -q 'left out' <<<"$out" || fail "a wrong wheel was taken: $out"
[[ $(<"$work/repo/.deps/flashinfer/version") == 0.0.1 ]] || fail "a wrong wheel was unpacked"

# A program out of a wheel can be run afterwards, and its licence is none of what a package contains.
fake_wheel flashinfer 0.5.3
rm -r "$work/repo/.deps/clang_tidy"
fake sha256sum ''
fake python3 'if [[ $2 == zipfile ]]; then
  mkdir -p "$5/clang_tidy/data/bin" "$5/x.dist-info/licenses"
  touch "$5/x.dist-info/licenses/LICENSE.md"
  echo "echo it runs" >"$5/clang_tidy/data/bin/clang-tidy"
fi'
run --check >/dev/null || fail "a wheel with a program ended with $?"
[[ $("$work/repo/.deps/clang_tidy/llvm/bin/clang-tidy") == "it runs" ]] || fail "the program of a wheel does not run"
[[ ! -e $work/repo/.deps/clang_tidy/LICENSE.md ]] || fail "the licence of a program that is no part of a package"
out=$(run --check)
[[ $out == "install_deps: everything is there" ]] || fail "fetched, and not everything: $out"

status=0
run --nonsense >/dev/null 2>&1 || status=$?
[[ $status == 2 ]] || fail "an unknown option ended with $status"
