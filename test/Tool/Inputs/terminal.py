# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""terminal.py COMMAND...: prints what COMMAND writes to stderr if that is a
terminal, with control codes spelled out."""
import os
import pty
import subprocess
import sys

master, slave = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=slave)
os.close(slave)
data = b""
while True:
    try:
        part = os.read(master, 4096)
    except OSError:  # the other side is closed
        break
    if not part:
        break
    data += part
code = child.wait()
text = data.decode().replace("\r\n", "\n").replace("\r", "<CR>")
print(text.replace("\x1b[K", "<CLEAR>"))
sys.exit(code)
