//===- CubinTest.cpp - reading hostile and true cubins --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Cubin.h"
#include "RuntimeTestUtils.h"
#include "fusec/Runtime/Cuda/Nvrtc.h"

#include "llvm/BinaryFormat/ELF.h"

#include <random>

using namespace fusec::runtime;
namespace ELF = llvm::ELF;

namespace {
/// A cubin of one kernel, "k", whose .nv.info says 40 registers. The record of
/// it is the file's last 12 bytes.
struct SmallCubin {
  ELF::Elf64_Ehdr header = {};
  // No section, .shstrtab, .strtab, .symtab, .nv.info
  ELF::Elf64_Shdr sections[5] = {};
  char names[40] = "\0.shstrtab\0.strtab\0.symtab\0.nv.info";
  char strings[8] = "\0k";
  ELF::Elf64_Sym symbol = {};
  uint32_t info[3] = {0x00082f04, 0, 40}; // sized, registers, 8 bytes

  SmallCubin() {
    std::memcpy(header.e_ident, ELF::ElfMagic, 4);
    header.e_ident[ELF::EI_CLASS] = ELF::ELFCLASS64;
    header.e_ident[ELF::EI_DATA] = ELF::ELFDATA2LSB;
    header.e_shentsize = sizeof(ELF::Elf64_Shdr);
    header.e_shnum = 5;
    header.e_shstrndx = 1;
    header.e_shoff = offsetof(SmallCubin, sections);
    place(1, 1, ELF::SHT_STRTAB, offsetof(SmallCubin, names), sizeof(names));
    place(2, 11, ELF::SHT_STRTAB, offsetof(SmallCubin, strings),
          sizeof(strings));
    place(3, 19, ELF::SHT_SYMTAB, offsetof(SmallCubin, symbol), sizeof(symbol));
    place(4, 27, ELF::SHT_PROGBITS, offsetof(SmallCubin, info), sizeof(info));
    sections[3].sh_link = 2;
    symbol.st_name = 1;
    symbol.st_info = ELF::STT_FUNC;
    symbol.st_other = 0x10; // an entry
  }
  std::optional<uint32_t> registers(size_t bytes = kBytes) const {
    std::vector<char> file(bytes);
    std::memcpy(file.data(), this, std::min(bytes, sizeof(*this)));
    return llvm::cantFail(readCubin(file)).lookup("k").registers;
  }
  static const size_t kBytes;

private:
  void place(unsigned index, uint32_t name, uint32_t type, uint64_t offset,
             uint64_t size) {
    sections[index].sh_name = name;
    sections[index].sh_type = type;
    sections[index].sh_offset = offset;
    sections[index].sh_size = size;
  }
};
const size_t SmallCubin::kBytes = offsetof(SmallCubin, info) + 12;
} // namespace

TEST(Cubin, RefusesWhatIsNoElfFile) {
  std::vector<char> bytes;
  EXPECT_TRUE(contains(text(readCubin(bytes)), "expected a 64-bit"));
  bytes.assign(1000, 'x');
  EXPECT_TRUE(contains(text(readCubin(bytes)), "expected a 64-bit"));
}

// Cut and damaged files must give an answer or an error and stay in bounds;
// run under AddressSanitizer this shows reads outside.
TEST(Cubin, SurvivesDamage) {
  auto nvrtc = Nvrtc::open();
  if (!nvrtc)
    GTEST_SKIP() << llvm::toString(nvrtc.takeError());
  auto module = llvm::cantFail(compileText(
      **nvrtc, "k.cu",
      "extern \"C\" __global__ void k(float *a) { a[0] = 1.0f; }", {}));
  llvm::ArrayRef<char> whole = module->cubin;
  ASSERT_EQ(llvm::cantFail(readCubin(whole)).count("k"), 1u);
  size_t refused = 0;
  for (size_t size = 0; size < whole.size(); size += 7) {
    std::vector<char> cut(whole.begin(), whole.begin() + size);
    refused += !text(readCubin(cut)).empty();
  }
  EXPECT_GT(refused, 0u);
  std::mt19937 rng(5);
  for (int round = 0; round < 2000; ++round) {
    std::vector<char> damaged(whole.begin(), whole.end());
    for (int i = 0; i < 8; ++i)
      damaged[rng() % damaged.size()] = static_cast<char>(rng());
    text(readCubin(damaged));
  }
}

TEST(Cubin, ASectionWithoutBytesInTheFileSaysNothing) {
  SmallCubin cubin;
  EXPECT_EQ(cubin.registers(), 40u);
  cubin.sections[4].sh_type = ELF::SHT_NOBITS;
  EXPECT_EQ(cubin.registers(), std::nullopt);
}

TEST(Cubin, ASectionEndsInTheFile) {
  SmallCubin cubin;
  EXPECT_EQ(cubin.registers(SmallCubin::kBytes), 40u);
  EXPECT_EQ(cubin.registers(SmallCubin::kBytes - 1), std::nullopt);
  ++cubin.sections[4].sh_size;
  EXPECT_EQ(cubin.registers(), std::nullopt);
  EXPECT_EQ(cubin.registers(SmallCubin::kBytes + 1), 40u);
}
