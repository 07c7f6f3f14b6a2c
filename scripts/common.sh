# What the scripts share. Sourced, with `set -eu` on.

project=$(cd "$(dirname "$0")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

say() { printf '\n== %s\n' "$*"; }

# install COMMAND-OR-FILE:PACKAGE...: installs with apt the packages whose command, pkg-config module
# or file is missing.
install_missing() {
  missing=
  for pair in "$@"; do
    what=${pair%%:*} package=${pair#*:}
    case $what in
      /*) [ -e "$what" ] || missing="$missing $package" ;;
      pc/*) pkg-config --exists "${what#pc/}" 2>/dev/null || missing="$missing $package" ;;
      *) command -v "$what" >/dev/null 2>&1 || missing="$missing $package" ;;
    esac
  done
  [ -z "$missing" ] && return 0
  if ! command -v apt-get >/dev/null; then
    echo "missing, and there is no apt-get to install it:$missing" >&2
    exit 2
  fi
  say "installing$missing"
  as_root=
  [ "$(id -u)" = 0 ] || as_root=sudo
  $as_root apt-get update -qq
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing \
    >/dev/null
}

# The tests of pages need these; without them they are skipped.
install_browser() {
  install_missing chromium:chromium chromedriver:chromium-driver \
    /usr/lib/python3/dist-packages/selenium:python3-selenium ||
    echo "there is no Chromium to be installed: the tests of pages are skipped" >&2
}

# need_tool FILE: it is built.
need_tool() {
  [ -x "$1" ] && return 0
  echo "no $1: build it first, or name the tool" >&2
  exit 2
}

# need_python VENV PACKAGE PROGRAM: a virtual environment where the program runs, by the package from
# PyPI if need be. Ends with 77, as tests that are skipped do, where that cannot be had.
need_python() {
  "$1/bin/python" -c "$3" 2>/dev/null && return 0
  why="$2 cannot be installed from PyPI"
  if ! python3 -m venv "$1" >/dev/null 2>&1; then
    why="python3 -m venv does not work here"
  elif "$1/bin/pip" install -q --timeout 20 --retries 1 "$2" >/dev/null 2>&1; then
    return 0
  fi
  echo "skipped: $why"
  exit 77
}

# Building needs these; -dev packages bring what they link to.
install_build_tools() {
  install_missing gcc:build-essential cmake:cmake ninja:ninja-build pkg-config:pkg-config
  install_missing pc/libcjson:libcjson-dev pc/libcgraph:libgraphviz-dev pc/zlib:zlib1g-dev \
    pc/libzstd:libzstd-dev /usr/share/nodejs/d3-zoom/dist/d3-zoom.min.js:node-d3-zoom "$@"
}

# build PRESET [CMAKE-OPTION...]: configures and builds into build/PRESET: $targets, or everything.
build() {
  preset=$1
  shift
  [ -f "$project/build/$preset/CMakeCache.txt" ] || generator="-G Ninja"
  # shellcheck disable=SC2086
  (cd "$project" && cmake --preset "$preset" ${generator:-} "$@" >/dev/null)
  # shellcheck disable=SC2086
  set -- "$project/build/$preset" -j "$jobs" ${targets:+--target $targets}
  cmake --build "$@" | grep -v '^\[\|^ninja: no work' || true
  cmake --build "$@" >/dev/null
  unset generator
}
