# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""killer.py FOLDER COMMAND...

Runs COMMAND with a C++ compiler on PATH, made in FOLDER, that sends its first
caller SIGSEGV and then compiles as the real one does.
"""
import os
import pathlib
import shutil
import subprocess
import sys

folder = pathlib.Path(sys.argv[1]).resolve()
names = ("clang++-22", "clang++", "g++", "c++")
real = next(filter(None, map(shutil.which, names)))
compiler = folder / names[0]
compiler.write_text(f"""#!/bin/sh
if mkdir {folder}/once 2>/dev/null; then
  kill -SEGV $PPID
  sleep 60
fi
exec {real} "$@"
""")
compiler.chmod(0o755)
path = f"{folder}{os.pathsep}{os.environ['PATH']}"
sys.exit(subprocess.run(sys.argv[2:], env={**os.environ, "PATH": path}).returncode)
