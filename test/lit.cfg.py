# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lit suites of fusec. Tools come from the build tree and LLVM's folder."""
import os

import lit.formats

config.name = "fusec"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["lib", "unit", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.fusec_source_dir, "test")
config.test_exec_root = os.path.join(config.fusec_binary_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.fusec_binary_dir, "bin"), config.llvm_tools_dir,
     os.environ.get("PATH", "")])
config.environment["FILECHECK_OPTS"] = "--enable-var-scope"
