# setup.sh - what demo, test and package share. Sourced by bash scripts.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what is missing from Debian, gets NVRTC from PyPI where there is no
# CUDA toolkit, configures and builds. Everything lands in the build folder
# except the Debian packages.

set -euo pipefail
export PIP_ROOT_USER_ACTION=ignore
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

packages=(
  ccache clang-22 clang-format-22 cmake g++ libclang-rt-22-dev libfmt-dev libgtest-dev
  libmlir-22-dev
  libonnx-testdata libprotozero-dev libxml2-dev libzstd-dev lld-22 llvm-22-dev llvm-22-tools
  mlir-22-tools ninja-build python3 python3-clang-22 python3-numpy xz-utils zlib1g-dev)

say() { printf '== [%4ds] %s\n' "$SECONDS" "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# Runs a command as root, through sudo if need be.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "packages are missing and need root: run 'apt-get install ${missing[*]}' as root"
  fi
}

# Installs those of its arguments that Debian does not have installed yet.
install_packages() {
  missing=()
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
      grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return 0
  command -v apt-get >/dev/null ||
    fail "no apt-get here: install these by hand: ${missing[*]}"
  say "installing from Debian: ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# The newest of the given files that is an NVRTC.
find_nvrtc() {
  local file
  for file in $(ls -d "$@" 2>/dev/null | sort -rV); do
    [ -e "$file" ] && echo "$file" && return 0
  done
  return 1
}

# NVRTC compiles kernels without a GPU. Without it everything else works.
setup_nvrtc() {
  [ -n "${FUSEC_NVRTC:-}" ] && return 0
  local toolkit file loader
  # The loader's list as a whole: grep -q would end ldconfig early, which
  # pipefail takes for failure.
  loader=$(ldconfig -p 2>/dev/null || true)
  case $loader in
  *libnvrtc.so.*)
    say "using the NVRTC of the loader's path"
    return 0
    ;;
  esac
  for toolkit in ${CUDA_HOME:+"$CUDA_HOME"} ${CUDA_PATH:+"$CUDA_PATH"} \
    $(ls -d /usr/local/cuda* /opt/cuda 2>/dev/null | sort -rV); do
    if file=$(find_nvrtc "$toolkit"/{lib64,lib,targets/*/lib}/libnvrtc.so.*); then
      say "using the NVRTC of a CUDA toolkit: $file"
      export FUSEC_NVRTC=$file
      return 0
    fi
  done
  local folder=$root/build/nvrtc pattern='nvidia/*/lib/libnvrtc.so.*'
  if ! find_nvrtc "$folder"/$pattern >/dev/null; then
    say "no CUDA toolkit: getting NVRTC (nvidia-cuda-nvrtc) from PyPI into build/nvrtc"
    mkdir -p "$folder"
    { python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip; } &&
      python3 -m pip download -q --no-deps -d "$folder" 'nvidia-cuda-nvrtc>=13,<14' &&
      python3 -m zipfile -e "$folder"/nvidia_cuda_nvrtc*.whl "$folder" &&
      rm -f "$folder"/*.whl ||
      say "NVRTC could not be had: going on without it"
  fi
  if file=$(find_nvrtc "$folder"/$pattern); then
    export FUSEC_NVRTC=$file
  fi
}

# The Python package onnx writes the networks of the tests and benchmarks.
setup_onnx() {
  local folder=$root/build/python
  PYTHONPATH=$folder python3 -c 'from onnx import helper' 2>/dev/null && return 0
  say "getting the Python package onnx from PyPI into build/python"
  { python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip; } &&
    python3 -m pip install -q --target "$folder" 'onnx>=1.18' numpy ||
    say "onnx could not be had: tests of generated networks are skipped"
}

setup() {
  install_packages "${packages[@]}"
  setup_nvrtc
  setup_onnx
  # The precompiled header is keyed by what goes into it, so that ccache can
  # serve objects in any folder.
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
}

# build PRESET [ninja arguments]: configures build/PRESET and builds.
build() {
  local preset=$1 folder=$root/build/$1
  shift
  say "configuring build/$preset"
  mkdir -p "$folder"
  cmake --preset "$preset" >"$folder/configure.log" 2>&1 || {
    cat "$folder/configure.log" >&2
    fail "configuring failed"
  }
  say "building build/$preset with $(nproc) jobs"
  ninja -j "$(nproc)" -C "$folder" FusecPCH | build_progress
  { cat cmake/Pch.h && clang-22 --version && dpkg-query -W libmlir-22-dev &&
    echo "$preset"; } | sha256sum >"$folder/CMakeFiles/FusecPCH.dir/cmake_pch.hxx.pch.sum"
  ninja -j "$(nproc)" -C "$folder" "$@" | build_progress
  say "built"
}

# All that is not progress, and ninja's progress: written over on a terminal,
# else one line every twenty seconds.
build_progress() {
  local terminal=0
  [ -t 1 ] && terminal=1
  awk -v terminal=$terminal '
    BEGIN { shown = systime() }
    /^\[[0-9]+\/[0-9]+\]/ {
      last = $0
      if (terminal) printf "\r\033[K%.78s", $0
      else if (systime() - shown >= 20) { print; shown = systime(); last = "" }
      fflush(); next
    }
    { if (terminal && last) printf "\r\033[K"; else if (last) print last
      last = ""; print; fflush() }
    END { if (terminal && last) print "" }'
}
