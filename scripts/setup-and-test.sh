#!/bin/sh
# Installs what is missing, builds, and runs the tests: gcc Release, then gcc with AddressSanitizer and
# UndefinedBehaviorSanitizer.
#
#     scripts/setup-and-test.sh [--full] [--accelerators] [--minutes=N]
#
# --full adds pages in Chromium, bits compared in XLA (scripts/check/bits), the Python package
# (scripts/check/live), the manual page's syntax, clang, what jaxlib says of our results, a minute of each
# fuzzer, valgrind over goldens, faults and unit tests, and coverage. --accelerators adds programs compiled
# for TPUs and GPUs (scripts/check/accelerators), compilations in at most 8 minutes, small ones of which the rewritten
# modules are run on arrays, and what their code contracts.
# --minutes is for machines that stop at some time: parts that would begin, or are still running, after N
# minutes are left out, and that is said; so are parts that hang. Sanitizers and clang then have a cover: unit
# tests, goldens, the interface of C, bad input and the corpora of the fuzzers. What follows clang is more than has to run:
# it begins only as long as all of it can be done in 45 minutes. Where CI is set, a part that has to run and did not is a
# failure.
set -eu
. "$(dirname "$0")/common.sh"

full=false accelerators=false is_bounded=false
minutes=100000
for arg in "$@"; do
  case $arg in
    --full) full=true ;;
    --accelerators) accelerators=true ;;
    --minutes=*) minutes=${arg#*=} is_bounded=true ;;
    *) echo "usage: $0 [--full] [--accelerators] [--minutes=N]" >&2; exit 2 ;;
  esac
done

start=$(date +%s)
results=
left_out=
failed=false
cover='^(unit|golden|bad|fuzz|api)\.'

seconds_left() {
  echo $((minutes * 60 - ($(date +%s) - start)))
}

# has_to_run NAME: whether a part may not be left out here.
has_to_run() {
  case $1 in
    release | bits | live | accelerators | computes | contraction | man | asan | clang) [ -n "${CI:-}" ] ;;
    *) return 1 ;;
  esac
}

# conclude NAME STATUS [DETAIL]: notes how a part ended.
conclude() {
  elapsed=$(($(date +%s) - start))
  status=$2
  if [ "$status" = skipped ] && has_to_run "$1"; then status=failed; fi
  results="$results
$(printf '%-12s %-8s %5ds  %s' "$1" "$status" "$elapsed" "${3:-}")"
  case $status in
    failed) failed=true ;;
    skipped) left_out="$left_out $1" ;;
  esac
}

# in_time NAME SECONDS: whether a part of --full may begin, that needs at least so long to be built.
in_time() {
  [ "$(seconds_left)" -gt "$2" ] && return 0
  conclude "$1" skipped "no time left of $minutes minutes"
  return 1
}

# limited LOG SECONDS COMMAND...: runs a command for so long at most, and no longer than there is time, its
# output in LOG. 124: time is up; the end of the output is shown, which says where it stood.
limited() {
  log=$1 most=$2
  shift 2
  left=$(seconds_left)
  [ "$left" -gt "$most" ] && left=$most
  [ "$left" -gt 0 ] || return 124
  code=0
  timeout --kill-after=10 "$left" "$@" >"$log" 2>&1 || code=$?
  [ $code = 137 ] && code=124
  [ $code = 124 ] && echo "not done after $left s:" && tail -5 "$log"
  return $code
}

# test_preset NAME PRESET [CTEST-OPTION...]: runs the tests of a build, shows and keeps the closing line.
test_preset() {
  name=$1 preset=$2
  shift 2
  log=$project/build/$preset/$name.log
  code=0
  limited "$log" 100000 ctest --test-dir "$project/build/$preset" -j "$jobs" --output-on-failure \
    --no-tests=error "$@" || code=$?
  [ ! -f "$log" ] || grep -A100 'did not run' "$log" || true
  case $code in
    0) conclude "$name" passed "$(grep 'tests passed' "$log")" ;;
    124) conclude "$name" skipped "not done in time: $(cat "$log" 2>/dev/null | grep -c Passed) passed, none failed" ;;
    *)
      grep -v 'Start \|Passed ' "$log" || true
      conclude "$name" failed "$(grep 'tests passed' "$log" || tail -1 "$log")"
      ;;
  esac
}

# conclude_compiled NAME CODE LOG DETAIL: how a run of scripts/check/accelerators ended.
conclude_compiled() {
  case $2 in
    0) conclude "$1" passed "$4" ;;
    77) conclude "$1" skipped "$4" ;;
    124) conclude "$1" skipped "not done in time" ;;
    *)
      grep 'FAULT' "$3" || tail -60 "$3"
      conclude "$1" failed "$4"
      ;;
  esac
}

# What rewritten modules compute as XLA compiles them for TPUs and GPUs, by an interpreter.
check_computes() {
  log=$project/build/computes.log
  code=0
  limited "$log" 420 "$project/scripts/check/accelerators" --computes --minutes=2 ${seed:+--seed=$seed} || code=$?
  seen=$(grep 'check/accelerators: skipped\|^computes: ' "$log" | tr '\n' ';' || true)
  conclude_compiled computes "$code" "$log" "$seen"
}

# What the rule of rounding takes for granted of the code of XLA:GPU and XLA:TPU.
check_contraction() {
  log=$project/build/contraction.log
  code=0
  limited "$log" 600 "$project/scripts/check/accelerators" --contraction || code=$?
  seen=$(grep 'check/accelerators: skipped\|is contracted' "$log" | tr '\n' ';' || true)
  conclude_compiled contraction "$code" "$log" "$seen"
}

check_manual() {
  faults=$(groff -man -ww -Tutf8 "$project/man/remat-hlo.1" 2>&1 >/dev/null)
  if [ -z "$faults" ]; then
    conclude man passed
  else
    echo "$faults"
    conclude man failed
  fi
}

run_fuzzers() {
  log=$project/build/fuzz.log
  if "$project/scripts/check/fuzz" --seed=1 >"$log" 2>&1; then
    conclude fuzz passed "$(tail -1 "$log")"
  else
    tail -60 "$log"
    conclude fuzz failed "$(tail -1 "$log")"
  fi
}

# The untouched modules first, then the rewritten ones, which begin no program after 4 minutes. Then less than two
# minutes of derivatives, other ones in each run, and of networks.
check_bits() {
  log=$project/build/bits.log
  code=0
  limited "$log" 600 "$project/scripts/check/bits" --interferences || code=$?
  if [ $code = 0 ] && ! grep 'check/bits: skipped' "$log"; then
    seen=$(tail -1 "$log")
    limited "$log" 720 "$project/scripts/check/bits" --cover --seconds=240 || code=$?
    [ $code != 0 ] || seen="$seen; rewritten: $(tail -1 "$log")"
  fi
  if [ $code = 0 ] && ! grep -q 'check/bits: skipped' "$log"; then
    limited "$log" 300 "$project/scripts/check/bits" --derivatives --minutes=0.7 || code=$?
    [ $code != 0 ] || seen="$seen; derivatives: $(tail -1 "$log")"
  fi
  if [ $code = 0 ] && ! grep -q 'check/bits: skipped' "$log"; then
    limited "$log" 400 "$project/scripts/check/bits" --networks --seconds=30 || code=$?
  fi
  case $code in
    0) if grep -q 'check/bits: skipped' "$log"; then
         conclude bits skipped "$(tail -1 "$log")"
       else
         conclude bits passed "untouched: $seen; networks: $(tail -1 "$log")"
       fi ;;
    124) conclude bits skipped "not done in time" ;;
    *)
      tail -60 "$log"
      conclude bits failed "$(tail -1 "$log")"
      ;;
  esac
}

# The Python package, alone and within XLA's compilation.
check_live() {
  log=$project/build/live.log
  code=0
  limited "$log" 1200 "$project/scripts/check/live" --minutes=6 || code=$?
  case $code in
    0) conclude live "$(grep -q 'check/live: skipped' "$log" && echo skipped || echo passed)" \
         "$(grep 'check/live: skipped\|^Ran \|^matrix: \|^not run' "$log" | tr '\n' ';')" ;;
    124) conclude live skipped "not done in time" ;;
    *)
      tail -60 "$log"
      conclude live failed "$(tail -1 "$log")"
      ;;
  esac
}

# Programs compiled for TPUs and GPUs. Where CI is set, they have to be: a skip is a failure. tpu7x is left out: of
# programs for which its SparseCore changes layouts, such as large sorts, figures do not hold.
check_accelerators() {
  log=$project/build/accelerators.log
  most=8 code=0
  left=$(($(seconds_left) / 60 - 1))
  [ "$left" -ge "$most" ] || most=$left
  limited "$log" $((most * 60 + 240)) "$project/scripts/check/accelerators" --minutes="$most" \
    --targets=v5e,v5p,v6e,a100,h100,b200 ${seed:+--seed=$seed} || code=$?
  seen=$(grep 'check/accelerators: skipped\|^walked \|^accelerators: ' "$log" | tr '\n' ';' || true)
  conclude_compiled accelerators "$code" "$log" "$seen"
}

# In CI sizes and seeds follow from the sources, so that a run of a commit can be repeated; otherwise they are drawn.
seed=
if [ -n "${CI:-}" ]; then
  tree=$(git -C "$project" rev-parse --short=7 'HEAD^{tree}' 2>/dev/null || echo 1)
  seed=$(printf '%d' "0x$(echo "$tree" | cut -c1-7)")
  export REMAT_HLO_NEW_SEED="$seed"
fi

install_build_tools pc/check:check python3:python3
if $full; then
  install_browser
  install_missing zsh:zsh fish:fish parallel:parallel lintian:lintian dpkg-shlibdeps:dpkg-dev file:file man:man-db
fi
say "gcc, Release"
build release -DBUILD_TESTING=ON
test_preset release release
# Before what takes longest: wrong numbers come before all else.
if $full && in_time bits 300; then
  say "the same bits, whatever is rewritten within XLA's compilation (JAX from PyPI)"
  check_bits
fi
if $full && in_time live 120; then
  say "the Python package, and JAX programs under it (JAX from PyPI)"
  check_live
fi
if $accelerators && in_time accelerators 180; then
  say "programs compiled for TPUs and GPUs that are not there (JAX's plugins from PyPI)"
  check_accelerators
  check_computes
  check_contraction
fi
if $full; then
  install_missing groff:groff
  if in_time man 30; then
    say "manual page"
    check_manual
  fi
fi
if in_time asan 120; then
  say "gcc, AddressSanitizer and UndefinedBehaviorSanitizer"
  build asan
  # Without a process for each test case: a sanitized one takes long to begin.
  export CK_FORK=no
  if $is_bounded; then test_preset asan asan -R "$cover"; else test_preset asan asan; fi
  unset CK_FORK
fi

if $full; then
  install_missing clang:clang valgrind:valgrind gcovr:gcovr dot:graphviz
  python3 -c 'import ensurepip' 2>/dev/null || install_missing no-ensurepip:python3-venv
  if in_time clang 240; then
    say "clang, Release"
    build clang
    $is_bounded || cover='^(unit|golden|bad|cli|property)\.'
    test_preset clang clang -R "$cover"
  fi
  # These are more than has to run.
  if $is_bounded && [ "$minutes" -gt 45 ]; then minutes=45; fi
  if in_time jaxlib 90; then
    say "XLA reads what we write (jaxlib from PyPI)"
    REMAT_HLO_JAXLIB=1 test_preset jaxlib release -L jax
  fi
  if in_time fuzz 360; then
    say "a minute of each fuzzer"
    run_fuzzers
  fi
  if in_time valgrind 240; then
    say "valgrind over goldens, faults and unit tests"
    build valgrind
    CK_FORK=no REMAT_HLO_WRAPPER="valgrind -q --error-exitcode=99 --leak-check=full" \
      test_preset valgrind valgrind -R '^(golden|unit|bad\.faults)'
  fi
  if in_time coverage 240; then
    say "coverage"
    build coverage
    test_preset coverage coverage -R '^(unit|golden|bad|cli|fuzz)\.'
    (cd "$project" && gcovr -r . --object-directory build/coverage -f 'src/' -s 2>/dev/null) |
      tee "$project/build/coverage/coverage.txt" | tail -3
  fi
fi

say "results, seconds since the start"
echo "$results" | sed 1d
if $failed; then
  echo "setup-and-test: FAILED"
  exit 1
fi
echo "setup-and-test: all passed${left_out:+, but for what was left out:$left_out}"
