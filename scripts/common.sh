# What the scripts share. Sourced, with `set -eu` on.

project=$(cd "$(dirname "$0")" && pwd)
until [ -f "$project/CMakeLists.txt" ]; do
  project=$(dirname "$project")
done
script=$(basename "$(dirname "$0")")/$(basename "$0") # check/bits, say
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

# install_python VENV PYTHON PACKAGE...: a virtual environment with these packages from PyPI. Where that
# cannot be had, it fails, with the reason in $why, and shows the end of what pip has to say.
install_python() {
  python_venv=$1 python_program=$2
  shift 2
  say "installing $* into $python_venv"
  if ! "$python_program" -m venv "$python_venv" >/dev/null 2>&1; then
    why="$python_program -m venv does not work here"
    return 1
  fi
  # Patient: a slow network is more common than none.
  "$python_venv/bin/pip" install -q --timeout 60 --retries 5 "$@" >"$python_venv/pip.log" 2>&1 && return 0
  tail -5 "$python_venv/pip.log" >&2
  why="pip cannot install $*"
  return 1
}

# need_python VENV PACKAGE PROGRAM: a virtual environment where the program runs, by the package from
# PyPI if need be. Ends with 77, as tests that are skipped do, where that cannot be had.
need_python() {
  "$1/bin/python" -c "$3" 2>/dev/null && return 0
  install_python "$1" python3 "$2" && return 0
  echo "skipped: $why"
  exit 77
}

# need_tool_and_jax [TOOL] [VENV]: sets $tool (build/release/remat-hlo) and $venv (build/venv-jax), where the newest JAX is.
need_tool_and_jax() {
  tool=${1:-$project/build/release/remat-hlo}
  venv=${2:-$project/build/venv-jax}
  need_tool "$tool"
  need_python "$venv" jax 'import jax'
}

# find_python [LEAST]: the newest that JAX's module transformations are made for, or one of at least that version. A shim
# of pyenv's is there, and fails, when its version is not the chosen one.
find_python() {
  least=${1:-3.12}
  for candidate in python3.14 python3.13 python3.12 python3 \
    ${PYENV_ROOT:+"$PYENV_ROOT"/versions/*/bin/python3} "${HOME:-/}"/.pyenv/versions/*/bin/python3; do
    if "$candidate" -c "import sys, venv; sys.exit(sys.version_info < (3, ${least#3.}))" 2>/dev/null; then
      echo "$candidate"
      return 0
    fi
  done
  return 1
}

# need_transformations VENV [PYTHON [PACKAGE...]]: a virtual environment whose JAX (the newest, or
# $jax_version) lets a program rewrite modules while XLA compiles them, made with PYTHON (the newest) when it
# is missing, and then with the packages too, if they can be had. Ends with 0 and a line that says so where
# that cannot be had.
need_transformations() {
  transformations_venv=$1 python=${2:-}
  shift
  [ $# = 0 ] || shift
  needed='import jax, numpy, optax; from jax.extend.xla import register_hlo_module_transformation'
  "$transformations_venv/bin/python" -c "$needed" 2>/dev/null && return 0
  if [ -z "$python" ] && ! python=$(find_python); then
    why="no Python 3.12 or later"
  elif install_python "$transformations_venv" "$python" "jax${jax_version:+==$jax_version}" optax numpy; then
    [ $# = 0 ] || "$transformations_venv/bin/pip" install -q "$@" >/dev/null 2>&1 || true
    "$transformations_venv/bin/python" -c "$needed" 2>/dev/null && return 0
    why="this JAX has no module transformations"
  fi
  echo "$script: skipped: $why"
  exit 0
}

# Building needs these; -dev packages bring what they link to.
install_build_tools() {
  install_missing gcc:build-essential cmake:cmake ninja:ninja-build pkg-config:pkg-config
  install_missing pc/libcjson:libcjson-dev pc/libcgraph:libgraphviz-dev pc/zlib:zlib1g-dev \
    pc/libzstd:libzstd-dev pc/libprotobuf-c:libprotobuf-c-dev protoc-c:protobuf-c-compiler "$(echo /usr/lib/*/libCbcSolver.so.3):coinor-libcbc3" /usr/share/nodejs/d3-zoom/dist/d3-zoom.min.js:node-d3-zoom "$@"
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
