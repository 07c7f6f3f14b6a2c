#!/bin/sh
# Installs what is missing, builds, and runs the tests: gcc Release, then gcc with AddressSanitizer and
# UndefinedBehaviorSanitizer.
#
#     scripts/setup-and-test.sh [--full] [--minutes=N]
#
# --full adds clang, valgrind over unit and golden tests, coverage, a minute of each fuzzer, the manual
# page's syntax, and the comparison with jaxlib. --minutes skips the parts of --full that would begin
# when N minutes have passed, and says so.
set -eu
. "$(dirname "$0")/common.sh"

full=false
minutes=100000
for arg in "$@"; do
  case $arg in
    --full) full=true ;;
    --minutes=*) minutes=${arg#*=} ;;
    *) echo "usage: $0 [--full] [--minutes=N]" >&2; exit 2 ;;
  esac
done

start=$(date +%s)
results=
failed=false

# conclude NAME STATUS [DETAIL]: notes how a part ended.
conclude() {
  elapsed=$(($(date +%s) - start))
  results="$results
$(printf '%-10s %-8s %5ds  %s' "$1" "$2" "$elapsed" "${3:-}")"
  [ "$2" = failed ] && failed=true
  return 0
}

# test_preset PRESET [CTEST-OPTION...]: runs the tests of a build, shows and keeps the closing line.
test_preset() {
  preset=$1
  shift
  log=$project/build/$preset/tests.log
  if (cd "$project/build/$preset" && ctest -j "$jobs" --output-on-failure --no-tests=error "$@") \
    >"$log" 2>&1; then
    status=passed
  else
    status=failed
    grep -v 'Start \|Passed ' "$log" || true
  fi
  grep -A100 'did not run' "$log" || true
  conclude "$preset" "$status" "$(grep 'tests passed' "$log" || tail -1 "$log")"
}

in_time() {
  [ $(($(date +%s) - start)) -lt $((minutes * 60)) ] && return 0
  conclude "$1" skipped "no time left of $minutes minutes"
  return 1
}

install_build_tools pc/check:check python3:python3
say "gcc, Release"
build release -DBUILD_TESTING=ON
test_preset release
say "gcc, AddressSanitizer and UndefinedBehaviorSanitizer"
build asan
test_preset asan

if $full; then
  install_missing clang:clang valgrind:valgrind gcovr:gcovr groff:groff dot:graphviz
  python3 -c 'import ensurepip' 2>/dev/null || install_missing no-ensurepip:python3-venv
  if in_time man; then
    say "manual page"
    if [ -z "$(groff -man -ww -Tutf8 "$project/man/remat-hlo.1" 2>&1 >/dev/null)" ]; then
      conclude man passed
    else
      groff -man -ww -Tutf8 "$project/man/remat-hlo.1" 2>&1 >/dev/null | head -20
      conclude man failed
    fi
  fi
  if in_time clang; then
    say "clang, Release"
    build clang
    test_preset clang -LE long
  fi
  if in_time jaxlib; then
    say "XLA reads what we write (jaxlib from PyPI)"
    log=$project/build/release/jaxlib.log
    (cd "$project/build/release" && REMAT_HLO_JAXLIB=1 ctest -R '^corpus\.jaxlib$' --output-on-failure) \
      >"$log" 2>&1 && status=passed || status=failed
    if grep -q Skipped "$log"; then
      status=skipped
      grep -i skip "$log" | head -3
    fi
    conclude jaxlib "$status" "$(tail -1 "$log")"
  fi
  if in_time valgrind; then
    say "valgrind over unit and golden tests"
    build valgrind
    CK_FORK=no REMAT_HLO_WRAPPER="valgrind -q --error-exitcode=99 --leak-check=full" \
      test_preset valgrind -R '^(unit|golden)\.'
  fi
  if in_time fuzz; then
    say "a minute of each fuzzer"
    build fuzz
    fuzz_status=passed
    for fuzzer in "$project"/build/fuzz/tests/fuzz/fuzz_*; do
      [ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
      found=$project/build/fuzz/found/$(basename "$fuzzer")
      mkdir -p "$found"
      (cd "$found" && "$fuzzer" -max_total_time=60 -timeout=20 -rss_limit_mb=3000 \
        -dict="$project/tests/fuzz/hlo.dict" . "$project/tests/fuzz/corpus/parse") \
        >"$found.log" 2>&1 || { fuzz_status=failed; tail -40 "$found.log"; }
      tail -1 "$found.log"
    done
    conclude fuzz "$fuzz_status"
  fi
  if in_time coverage; then
    say "coverage"
    build coverage
    test_preset coverage -R '^(unit|golden|bad|cli|fuzz)\.'
    (cd "$project" && gcovr -r . --object-directory build/coverage -f 'src/' -s 2>/dev/null) |
      tee build/coverage/coverage.txt | tail -3
  fi
fi

say "results, seconds since the start"
echo "$results" | sed 1d
if $failed; then
  echo "setup-and-test: FAILED"
  exit 1
fi
echo "setup-and-test: all passed"
