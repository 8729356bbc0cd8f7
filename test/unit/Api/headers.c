/*===- headers.c - the public C headers as C11 ------------------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                      *|
\*===------------------------------------------------------------------------===*/
#include "fusec-c/fusec.h"

/* DLPack's ABI on a 64-bit machine. */
_Static_assert(sizeof(DLTensor) == 48, "layout of DLTensor");
_Static_assert(offsetof(DLTensor, ndim) == 16, "layout of DLTensor");
_Static_assert(offsetof(DLTensor, shape) == 24, "layout of DLTensor");
_Static_assert(offsetof(DLTensor, byte_offset) == 40, "layout of DLTensor");
_Static_assert(sizeof(DLManagedTensor) == 64, "layout of DLManagedTensor");
_Static_assert(sizeof(DLManagedTensorVersioned) == 80, "versioned layout");
_Static_assert(sizeof(DLDataType) == 4, "layout of DLDataType");

fusec_compile_options fusec_test_options(void);
fusec_compile_options fusec_test_options(void) {
  return fusec_compile_options_default();
}
