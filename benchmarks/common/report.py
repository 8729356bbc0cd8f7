# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of text."""


def columns(lines):
    """Rows of cells, aligned: the first and the last column to the left."""
    last = len(lines[0]) - 1
    widths = [max(len(line[i]) for line in lines) for i in range(last + 1)]
    return "\n".join("  ".join(
        cell.ljust(width) if i in (0, last) else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
        for line in lines)
