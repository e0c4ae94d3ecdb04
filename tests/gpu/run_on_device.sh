#!/usr/bin/env bash
# Runs the GPU tests on a machine with a device, then again under compute-sanitizer, one process per
# test and tool. Results go to $OUT, or to gpu-results beside the program.
#
#   tests/gpu/run_on_device.sh                 build in build-gpu (NSA_CUDA=ON), then run
#   tests/gpu/run_on_device.sh FOLDER          run FOLDER/tests/test_gpu or FOLDER/test_gpu
#   tests/gpu/run_on_device.sh --pack FOLDER   copy a built test_gpu ($BUILD, default build) and the
#                                              libraries that it needs to FOLDER, to carry it to a
#                                              machine that has no build tools
# SANITIZERS="memcheck racecheck" narrows the tools, SANITIZERS= skips them; TESTS="[gpu]" the tests.
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
echo "== tests $tests"
"$program" "$tests" --durations yes 2>&1 | tee "$out/tests.log" || failed=1
if grep -q 'skipped: no CUDA device' "$out/tests.log"; then
  echo "no device: nothing was tested" >&2
  exit 3
fi

: >"$out/sanitizer.log"
mapfile -t names < <("$program" "$tests" --list-test-names-only | sed 's/^ *//; /^$/d' || true)
# Some tests provoke errors of the API on purpose (no memory, no capture) and check how they end.
declare -A options=([memcheck]="--report-api-errors no")
for tool in ${SANITIZERS-memcheck racecheck initcheck synccheck}; do
  for name in "${names[@]}"; do
    started=$SECONDS
    status=good
    timeout 300 compute-sanitizer --tool "$tool" ${options[$tool]:-} --error-exitcode 9 --print-limit 5 \
      "$program" "${name//,/\\,}" >"$out/one.log" 2>&1 || status=failed:$?
    echo "$tool $status $((SECONDS - started))s $name" | tee -a "$out/sanitizer.log"
    if [[ $status != good ]]; then
      failed=1
      tail -40 "$out/one.log" >>"$out/sanitizer.log"
    fi
  done
done
rm -f "$out/one.log"
exit $failed
