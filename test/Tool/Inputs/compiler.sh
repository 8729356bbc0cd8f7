#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A compiler that fails once, or with a file "hang" beside it waits for ever from
# the third time on. Beside it: "asked", a line for each process that wanted
# something compiled.
here=$(dirname "$0")
echo "$PPID" >> "$here/asked"
if [ -e "$here/hang" ]; then
  if [ "$(wc -l < "$here/asked")" -gt 2 ]; then
    exec sleep 1000
  fi
elif mkdir "$here/failed" 2> "$here/log"; then
  echo "a planted failure" >&2
  exit 1
fi
PATH=${PATH#*:}
for name in clang++-22 clang++ g++ c++; do
  if command -v "$name" > "$here/log"; then
    exec "$name" "$@"
  fi
done
