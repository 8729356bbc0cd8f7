# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lit suites of fusec. Tools come from the build tree and LLVM's folder."""
import json
import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "fusec"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["lib", "unit", "Inputs", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.fusec_source_dir, "test")
config.test_exec_root = os.path.join(config.fusec_binary_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.fusec_binary_dir, "bin"), config.llvm_tools_dir,
     os.environ.get("PATH", "")])
config.environment["FILECHECK_OPTS"] = "--enable-var-scope"
# Tests neither read nor write the user's kernel cache.
config.environment["FUSEC_CACHE"] = "off"

exits = os.path.join(config.test_source_root, "Tool", "Inputs", "exits.py")
config.substitutions.append(("%exits", f"{sys.executable} {exits}"))
config.substitutions.append(("%python", sys.executable))

# `--param target=emulator` runs in the emulator what tests run on the host.
target = lit_config.params.get("target")
if target:
    config.substitutions.append(("--target=host", f"--target={target}"))
    config.test_exec_root = os.path.join(config.test_exec_root, target)

# Networks are written with the onnx package: the interpreter's own, or the one
# that scripts/setup.sh puts into the build.
paths = [config.fusec_source_dir, os.path.join(config.fusec_source_dir, "build", "python"),
         os.environ.get("PYTHONPATH", "")]
config.environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
if subprocess.run([sys.executable, "-c", "from onnx import helper"], capture_output=True,
                  env={**os.environ, **config.environment}).returncode == 0:
    config.available_features.add("onnx")

nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
if nvcc:
    config.available_features.add("nvcc")
    config.substitutions.append(("%nvcc", nvcc))

for name in ("FUSEC_NVRTC", "FUSEC_CUBLASLT", "FUSEC_CUDA_DRIVER"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# What `fusec devices` finds; suites that do not need the tool run without it.
tool = os.path.join(config.fusec_binary_dir, "bin", "fusec")
if os.path.exists(tool):
    report = json.loads(subprocess.run([tool, "devices", "--json"], check=True,
                                       capture_output=True).stdout)
    if report.get("nvrtc", {}).get("path"):
        config.available_features.add("nvrtc")
