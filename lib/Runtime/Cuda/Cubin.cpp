//===- Cubin.cpp - what a cubin says about its kernels --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cubin is a 64-bit little-endian ELF file. What is read here:
//
//  - kernel NAME is a symbol of section ".text.NAME" with the entry bit set;
//  - section ".nv.info" holds records (format, attribute, ...); those of
//    kRegisterCount and kFrameSize are pairs (symbol index, value);
//  - the size of ".nv.shared.NAME" is static shared memory, on chips that
//    reserve memory for the system with that added.
//
// NVIDIA does not document the last two, so a value that is not found is left
// empty and the driver's answer, where there is one, takes precedence.
//===----------------------------------------------------------------------===//
#include "Cubin.h"

#include "llvm/BinaryFormat/ELF.h"

#include <cstring>
#include <map>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;
namespace ELF = llvm::ELF;

static constexpr uint8_t kEntryBit = 0x10;      // in a symbol's st_other
static constexpr uint8_t kSizedRecord = 0x04;   // 16-bit size, then payload
static constexpr uint8_t kFrameSize = 0x11;     // bytes of stack per thread
static constexpr uint8_t kRegisterCount = 0x2f; // registers per thread
// Bytes at the start of shared memory that belong to the system where the
// section below is present.
static constexpr uint64_t kReservedShared = 1024;
static constexpr llvm::StringLiteral kReservedSection = ".nv.shared.reserved.0";

static Error malformed(const char *what) {
  return llvm::createStringError("cubin: malformed %s", what);
}

namespace {
// Bounds-checked reading of an ELF file held in memory.
class Reader {
public:
  explicit Reader(llvm::ArrayRef<char> file) : file(file) {}
  Error parse();
  Expected<llvm::StringMap<KernelResources>> kernels() const;

private:
  template <typename T>
  bool read(uint64_t offset, T &value) const {
    if (offset > file.size() || file.size() - offset < sizeof(T))
      return false;
    std::memcpy(&value, file.data() + offset, sizeof(T));
    return true;
  }
  llvm::ArrayRef<char> contents(const ELF::Elf64_Shdr &section) const;
  llvm::StringRef string(const ELF::Elf64_Shdr &table, uint64_t offset) const;
  const ELF::Elf64_Shdr *section(llvm::StringRef name) const;
  // Values of one attribute of .nv.info by symbol index.
  std::map<uint32_t, uint32_t> attribute(uint8_t kind) const;
  std::optional<uint32_t> sharedBytes(llvm::StringRef entry) const;

  llvm::ArrayRef<char> file;
  std::vector<ELF::Elf64_Shdr> sections;
  std::vector<llvm::StringRef> names;
};
} // namespace

llvm::ArrayRef<char> Reader::contents(const ELF::Elf64_Shdr &section) const {
  if (section.sh_type == ELF::SHT_NOBITS || section.sh_offset > file.size() ||
      section.sh_size > file.size() - section.sh_offset)
    return {};
  return file.slice(section.sh_offset, section.sh_size);
}

llvm::StringRef Reader::string(const ELF::Elf64_Shdr &table,
                               uint64_t offset) const {
  llvm::ArrayRef<char> bytes = contents(table);
  if (offset >= bytes.size())
    return {};
  llvm::StringRef rest(bytes.data() + offset, bytes.size() - offset);
  return rest.take_until([](char c) { return c == 0; });
}

const ELF::Elf64_Shdr *Reader::section(llvm::StringRef name) const {
  for (size_t i = 0; i < sections.size(); ++i)
    if (names[i] == name)
      return &sections[i];
  return nullptr;
}

Error Reader::parse() {
  ELF::Elf64_Ehdr header;
  if (!read(0, header) || !header.checkMagic() ||
      header.getFileClass() != ELF::ELFCLASS64 ||
      header.getDataEncoding() != ELF::ELFDATA2LSB)
    return malformed("file: expected a 64-bit little-endian ELF file");
  if (header.e_shentsize != sizeof(ELF::Elf64_Shdr) ||
      header.e_shstrndx >= header.e_shnum)
    return malformed("section table");
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    ELF::Elf64_Shdr section;
    uint64_t offset;
    if (__builtin_add_overflow(header.e_shoff, i * sizeof(section), &offset) ||
        !read(offset, section))
      return malformed("section table");
    sections.push_back(section);
  }
  for (const ELF::Elf64_Shdr &section : sections)
    names.push_back(string(sections[header.e_shstrndx], section.sh_name));
  return Error::success();
}

std::map<uint32_t, uint32_t> Reader::attribute(uint8_t kind) const {
  std::map<uint32_t, uint32_t> values;
  const ELF::Elf64_Shdr *info = section(".nv.info");
  llvm::ArrayRef<char> bytes = info ? contents(*info) : llvm::ArrayRef<char>();
  while (bytes.size() >= 4) {
    uint8_t format = bytes[0], attribute = bytes[1];
    uint16_t size;
    std::memcpy(&size, bytes.data() + 2, 2);
    bytes = bytes.drop_front(4);
    if (format != kSizedRecord)
      continue;
    if (size > bytes.size())
      break;
    if (attribute == kind && size == 8) {
      uint32_t pair[2];
      std::memcpy(pair, bytes.data(), 8);
      values[pair[0]] = pair[1];
    }
    bytes = bytes.drop_front(size);
  }
  return values;
}

std::optional<uint32_t> Reader::sharedBytes(llvm::StringRef entry) const {
  const ELF::Elf64_Shdr *own = section((".nv.shared." + entry).str());
  if (!own)
    return 0;
  uint64_t bytes = own->sh_size;
  uint64_t reserved = section(kReservedSection) ? kReservedShared : 0;
  if (bytes < reserved || bytes - reserved > UINT32_MAX)
    return std::nullopt;
  return static_cast<uint32_t>(bytes - reserved);
}

static std::optional<uint32_t>
lookUp(const std::map<uint32_t, uint32_t> &values, uint32_t key) {
  auto it = values.find(key);
  return it == values.end() ? std::nullopt : std::optional(it->second);
}

Expected<llvm::StringMap<KernelResources>> Reader::kernels() const {
  const ELF::Elf64_Shdr *symbols = section(".symtab");
  if (!symbols || symbols->sh_link >= sections.size())
    return malformed("symbol table");
  const ELF::Elf64_Shdr &strings = sections[symbols->sh_link];
  auto registers = attribute(kRegisterCount), frames = attribute(kFrameSize);
  llvm::StringMap<KernelResources> result;
  llvm::ArrayRef<char> bytes = contents(*symbols);
  for (uint32_t i = 0; bytes.size() >= sizeof(ELF::Elf64_Sym); ++i) {
    ELF::Elf64_Sym symbol;
    std::memcpy(&symbol, bytes.data(), sizeof(symbol));
    bytes = bytes.drop_front(sizeof(symbol));
    if (symbol.getType() != ELF::STT_FUNC || !(symbol.st_other & kEntryBit))
      continue;
    llvm::StringRef name = string(strings, symbol.st_name);
    KernelResources &resources = result[name];
    resources.registers = lookUp(registers, i);
    resources.localBytes = lookUp(frames, i);
    resources.staticSharedBytes = sharedBytes(name);
  }
  return result;
}

Expected<llvm::StringMap<KernelResources>>
fusec::runtime::readCubin(llvm::ArrayRef<char> cubin) {
  Reader reader(cubin);
  if (Error error = reader.parse())
    return std::move(error);
  return reader.kernels();
}
