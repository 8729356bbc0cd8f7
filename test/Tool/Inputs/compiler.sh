#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A compiler that fails once. Beside it: "asked", a line for each process that
# wanted something compiled.
here=$(dirname "$0")
echo "$PPID" >> "$here/asked"
if mkdir "$here/failed" 2> "$here/log"; then
  echo "a planted failure" >&2
  exit 1
fi
PATH=${PATH#*:}
for name in clang++-22 clang++ g++ c++; do
  if command -v "$name" > "$here/log"; then
    exec "$name" "$@"
  fi
done
