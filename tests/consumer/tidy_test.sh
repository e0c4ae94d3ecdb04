#!/usr/bin/env bash
# scripts/tidy with a clang-tidy that only pretends: what it looks at, and what it leaves out the next time.
# shellcheck disable=SC2016  # the bodies of the fakes expand when they run
set -euo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/repo/scripts" "$work/build" "$work/path"
cp "$source_dir/scripts/tidy" "$work/repo/scripts/"
echo 'Checks: bugprone-*' >"$work/repo/.clang-tidy"
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$work/path/python3"

fail() { echo "FAILED: $*" >&2; exit 1; }
# fake FILE VERSION: a clang-tidy. A source includes what its lines "use NAME" say, and one with "wrong" has a finding.
fake() {
  printf '#!/bin/bash\nversion=%s work=%s\n' "$2" "$work" >"$work/$1"
  cat >>"$work/$1" <<'SH'
if [[ $1 == --version ]]; then echo "Debian LLVM version $version"; exit; fi
source=${!#}
echo "${source##*/}" >>"$work/calls"
for word; do [[ $word != --extra-arg=* ]] || headers=${word#*=}; done  # the last one
while read -r verb name; do
  [[ $verb != use ]] || echo "$work/$name" >>"$headers"
  [[ $verb != wrong ]] || { echo "$source: finding"; exit 1; }
done <"$source"
SH
  chmod +x "$work/$1"
}
# run WORDS...: scripts/tidy without the programs of this machine; status and out are how it ended, calls what was asked.
run() {
  : >"$work/calls"
  status=0
  out=$(PATH=$work/path "$work/repo/scripts/tidy" "$work/build" -j 1 "$@" 2>&1) || status=$?
  calls=$(sort "$work/calls" | /usr/bin/xargs)
}
# is CALLS STATUS WHY
is() { [[ $calls == "$1" && $status == "$2" ]] || fail "$3: asked '$calls', status $status: $out"; }
# write FILE LINE: as if it were saved a while ago
write() { echo "$2" >"$work/$1"; touch -d '1 minute ago' "$work/$1"; }

write a.hpp 'nothing'
write a.cpp 'use a.hpp'
write b.cpp 'nothing'
entry() { printf '{"directory": "%s", "command": "%s", "file": "%s"}' "$work" "c++ $2 -c $1.cpp" "$work/$1.cpp"; }
commands() { echo "[$(entry a ''), $(entry b "$1")]" >"$work/build/compile_commands.json"; }
commands ''

run
is '' 2 'without clang-tidy'
grep -q 'needs clang-tidy 22' <<<"$out" || fail "no advice without clang-tidy: $out"
fake path/clang-tidy 16.0.6
run
is '' 2 'another version was taken'
run --find
is '' 2 'another version was found'
fake path/clang-tidy 22.1.8
run
is 'a.cpp b.cpp' 0 'the first time'
run
is '' 0 'what was clean was asked again'
run --all
is 'a.cpp b.cpp' 0 'not all'

write a.hpp 'something else'
run
is 'a.cpp' 0 'a header changed'
write b.cpp 'wrong'
run
is 'b.cpp' 1 'a finding'
grep -q 'b.cpp: finding' <<<"$out" && grep -q '1 sources have findings' <<<"$out" || fail "what was found is not told: $out"
run
is 'b.cpp' 1 'a source with a finding counts as clean'
write b.cpp 'nothing more'
run
is 'b.cpp' 0 'mended'
commands -O2
run
is 'b.cpp' 0 'another command'
echo 'Checks: performance-*' >"$work/repo/.clang-tidy"
run
is 'a.cpp b.cpp' 0 'other checks'
fake path/clang-tidy-22 22.1.9
run
is 'a.cpp b.cpp' 0 'another version of clang-tidy'
mkdir -p "$work/repo/.deps/clang_tidy/llvm/bin"
fake repo/.deps/clang_tidy/llvm/bin/clang-tidy 21.1.0
run --find
[[ $out == "$work/path/clang-tidy-22" ]] || fail "not the one on PATH: $out"
fake repo/.deps/clang_tidy/llvm/bin/clang-tidy 22.1.10
run --find
[[ $out == "$work/repo/.deps/clang_tidy/llvm/bin/clang-tidy" ]] || fail "not the one that was fetched: $out"
run
is 'a.cpp b.cpp' 0 'the version that was fetched'

# Saved while it was looked at: what was found clean may not be what is there now.
rm "$work"/build/clean/*
touch -d '1 minute' "$work/a.hpp"
run
run
is 'a.cpp' 0 'a header that changed meanwhile'
