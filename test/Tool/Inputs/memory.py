# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the least --memory that `fusec fuzz` takes. With it graphs are too large
for their process, and every finding must say so."""
import json
import subprocess


def fuzz(memory, count):
    return subprocess.run(["fusec", "fuzz", "--seed=0", f"--count={count}", f"--memory={memory}",
                           "--json", "--quiet"], capture_output=True, text=True)


low, high = 1, 4096
while high - low > 1:
    middle = (low + high) // 2
    if fuzz(middle, 1).returncode == 2:
        low = middle
    else:
        high = middle
findings = json.loads(fuzz(high, 8).stdout)["findings"]
assert findings, high
for finding in findings:
    assert finding["kind"] == "memory", finding
    assert finding["message"] == f"wants more than {high} MiB (--memory)", finding
print(len(findings), "findings with", high, "MiB, all for want of memory")
