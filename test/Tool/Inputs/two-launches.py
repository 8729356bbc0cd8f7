#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers as `fusec run --json` does for a graph that became two launches."""
import json

print(json.dumps({"against": {"outputs": []}, "fusion": {"launches": 2}}))
