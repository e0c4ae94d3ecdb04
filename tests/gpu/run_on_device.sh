#!/usr/bin/env bash
# Runs the GPU tests on a machine with a device, then again under compute-sanitizer, one process per
# test and tool. Results go to $OUT, or to gpu-results beside the program.
#
#   tests/gpu/run_on_device.sh                 build in build-gpu (NSA_CUDA=ON), then run
#   tests/gpu/run_on_device.sh FOLDER          run FOLDER/tests/test_gpu or FOLDER/test_gpu
#   tests/gpu/run_on_device.sh --pack FOLDER   copy a built test_gpu ($BUILD, default build) and the
#                                              libraries that it needs to FOLDER, to carry it to a
#                                              machine that has no build tools
# SANITIZERS="memcheck racecheck" narrows the tools, SANITIZERS= skips them, PLAIN=no skips the run without them; TESTS="[gpu]" narrows the tests;
# JOBS=4 how many sanitized tests share the device at a time (default: cores less two, and 6 at most: a sanitizer takes 10 GB of
# device memory and more, and has ten ports), LIMIT=600 the seconds of one.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

pack() {
  local from=${BUILD:-$root/build}/tests/test_gpu to=$1
  mkdir -p "$to/lib"
  cp "$from" "$to/test_gpu"
  # The C library belongs to the machine; everything else travels.
  ldd "$from" | awk '$3 ~ /^\// {print $3}' |
    grep -vE '/(libc|libm|libdl|librt|libpthread)\.so' | xargs -r cp -Lt "$to/lib"
  strip --strip-debug "$to/test_gpu"
  du -sh "$to"
}

build() {
  local folder=$root/build-gpu
  cmake -S "$root" -B "$folder" -DNSA_CUDA=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo >&2
  cmake --build "$folder" --target test_gpu -j"$(nproc)" >&2
  echo "$folder"
}

if [[ ${1:-} == --pack ]]; then
  pack "${2:?a folder to pack into}"
  exit
fi
folder=${1:-$(build)}
program=$folder/tests/test_gpu
[[ -x $program ]] || program=$folder/test_gpu
[[ -x $program ]] || { echo "no test_gpu in $folder" >&2; exit 2; }
out=${OUT:-$(dirname "$program")/gpu-results}
mkdir -p "$out"
[[ -d $folder/lib ]] && export LD_LIBRARY_PATH=$folder/lib:${LD_LIBRARY_PATH:-}
tests=${TESTS-[gpu]}

failed=0
if [[ ${PLAIN:-yes} == yes ]]; then
  echo "== tests $tests"
  "$program" "$tests" --durations yes 2>&1 | tee "$out/tests.log" || failed=1
  if grep -q 'skipped: no CUDA device' "$out/tests.log"; then
    echo "no device: nothing was tested" >&2
    exit 3
  fi
fi

# racecheck knows barriers and atomics, but not release and acquire. So it reports the counter that the loader of
# fused_query writes with st.release and the warps read with ld.acquire, and cuBLASLt's own kernels (nvjet_*), which
# cannot be left out: they fail when they alone run without the tool ("illegal memory access"). True when nothing else
# was reported, and nothing was left out of the report.
only_releases() {
  local log=$1 lines shown
  lines=$(grep -E 'Race reported between|and (Read|Write) access at' "$log")
  [[ -n $lines ]] && ! grep -qvE '::(issued_now|set_issued)\(|access at nvjet' <<<"$lines" || return 1
  shown=$(sed -n 's/.*RACECHECK SUMMARY: \([0-9]*\) hazards\? displayed.*/\1/p' "$log")
  [[ $shown == $(grep -c 'Race reported between' "$log") ]] && grep -q 'All tests passed' "$log"
}

# One test under one tool; its whole output stays in a file when it fails.
sanitize() {
  local tool=$1 name=$2 options=() shown=5 status=good started=$SECONDS log
  log=$out/$tool.$(cksum <<<"$name" | cut -d' ' -f1).log
  # Some tests provoke errors of the API on purpose (no memory, no capture) and check how they end.
  [[ $tool == memcheck ]] && options+=(--report-api-errors no)
  # cuDNN's own kernels hand data over by release and acquire, which racecheck does not know, and
  # fail to run under synccheck ("unspecified launch failure", no report).
  [[ $tool == racecheck || $tool == synccheck ]] &&
    options+=(--kernel-name-exclude kernel_substring=cudnn_generated)
  [[ $tool == racecheck ]] && shown=100000  # all are looked at
  # racecheck loses launches of threads that begin theirs at once ("failure to track a kernel launch").
  [[ $tool == racecheck && $name == threads\ that\ run\ attention* ]] && return 0
  NSA_TEST_SANITIZED=1 timeout "${LIMIT:-600}" compute-sanitizer --tool "$tool" "${options[@]}" --error-exitcode 9 --print-limit $shown \
    "$program" "${name//,/\\,}" >"$log" 2>&1 || status=failed:$?
  [[ $tool == racecheck && $status == failed:9 ]] && only_releases "$log" && status=good
  echo "$tool $status $((SECONDS - started))s $name"
  [[ $status == good ]] && rm -f "$log"
  return 0
}
export -f sanitize only_releases
export out program

mapfile -t names < <("$program" "$tests" --list-test-names-only | sed 's/^ *//; /^$/d' || true)
cores=$(nproc)
jobs=${JOBS:-$((cores > 8 ? 6 : cores > 3 ? cores - 2 : 1))}
for tool in ${SANITIZERS-initcheck racecheck memcheck synccheck}; do
  for name in "${names[@]}"; do printf '%s\0%s\0' "$tool" "$name"; done
done | xargs -0 -r -n 2 -P "$jobs" bash -c 'sanitize "$1" "$2"' _ | tee "$out/sanitizer.log"
grep -q ' failed:' "$out/sanitizer.log" && failed=1
exit $failed
