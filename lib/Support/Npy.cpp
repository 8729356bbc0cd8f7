//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The header is a Python dictionary literal. Only the grammar that NumPy
// itself writes is accepted: three known keys, a string, a boolean and a tuple
// of non-negative integers, in any order, with spaces anywhere.
//===----------------------------------------------------------------------===//
#include "fusec/Support/Npy.h"
#include "fusec/Support/File.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

#include <cstring>

using namespace fusec;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr StringRef kMagic("\x93NUMPY", 6);
// Format 1 allows 65 535; real headers have about a hundred bytes.
static constexpr size_t kMaxHeaderBytes = 1 << 16;

namespace {
/// What a .npy header says.
struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<int64_t>> shape;
};

/// A cursor over the dictionary literal. Every method returns false at the
/// first character that does not fit.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : rest(text) {}

  bool parse(Header &header) {
    if (!eat('{'))
      return false;
    while (!eat('}')) {
      std::string key;
      if (!parseString(key) || !eat(':') || !parseEntry(key, header))
        return false;
      if (eat(','))
        continue;
      if (eat('}'))
        break;
      return false;
    }
    rest = rest.ltrim(" \t\n");
    return rest.empty();
  }

private:
  bool eat(char c) {
    rest = rest.ltrim(" \t\n");
    if (rest.empty() || rest.front() != c)
      return false;
    rest = rest.drop_front();
    return true;
  }

  bool parseString(std::string &out) {
    rest = rest.ltrim(" \t\n");
    if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
      return false;
    size_t end = rest.find(rest.front(), 1);
    if (end == StringRef::npos)
      return false;
    out = rest.slice(1, end).str();
    rest = rest.drop_front(end + 1);
    return true;
  }

  bool parseEntry(StringRef key, Header &header) {
    if (key == "descr" && !header.descr)
      return parseString(header.descr.emplace());
    if (key == "fortran_order" && !header.fortranOrder)
      return parseBool(header.fortranOrder.emplace());
    if (key == "shape" && !header.shape)
      return parseShape(header.shape.emplace());
    return false;
  }

  bool parseBool(bool &out) {
    rest = rest.ltrim(" \t\n");
    out = rest.consume_front("True");
    return out || rest.consume_front("False");
  }

  bool parseShape(std::vector<int64_t> &out) {
    if (!eat('('))
      return false;
    bool comma = false;
    while (!eat(')')) {
      rest = rest.ltrim(" \t\n");
      int64_t value;
      if ((!out.empty() && !comma) || rest.empty() ||
          !llvm::isDigit(rest.front()) || rest.consumeInteger(10, value) ||
          out.size() == kMaxRank)
        return false;
      out.push_back(value);
      comma = eat(',');
    }
    // "(3)" is an integer in Python, not a tuple.
    return out.size() != 1 || comma;
  }

  StringRef rest;
};
} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The descr without byte order that `type` is stored as.
static StringRef storageDescr(DType type) {
  switch (type) {
  case DType::F64:
    return "f8";
  case DType::F32:
    return "f4";
  case DType::F16:
    return "f2";
  case DType::BF16:
    return "u2";
  case DType::F8E4M3:
  case DType::F8E5M2:
    return "u1";
  case DType::I64:
    return "i8";
  case DType::I32:
    return "i4";
  case DType::I16:
    return "i2";
  case DType::I8:
  case DType::I4:
    return "i1";
  case DType::U64:
    return "u8";
  case DType::U32:
    return "u4";
  case DType::U16:
    return "u2";
  case DType::U8:
  case DType::U4:
    return "u1";
  case DType::Bool:
    return "b1";
  }
  return "";
}

/// The type that a descr means by itself.
static std::optional<DType> plainType(StringRef body) {
  for (DType type :
       {DType::F64, DType::F32, DType::F16, DType::I64, DType::I32, DType::I16,
        DType::I8, DType::U64, DType::U32, DType::U16, DType::U8, DType::Bool})
    if (body == storageDescr(type))
      return type;
  return std::nullopt;
}

static Expected<DType> resolveType(StringRef descr, std::optional<DType> as) {
  auto unsupported = [&] {
    return llvm::createStringError(
        "unsupported descr '%s'%s", descr.str().c_str(),
        as ? (" for " + name(*as)).str().c_str() : "");
  };
  if (descr.size() < 2)
    return unsupported();
  char order = descr.front();
  StringRef body = descr.drop_front();
  if (order != '<' && order != '|' && !(order == '=' || order == '>'))
    return unsupported();
  if (order == '>' && body.back() != '1')
    return llvm::createStringError("expected little-endian data, found descr "
                                   "'%s'",
                                   descr.str().c_str());
  std::optional<DType> plain = plainType(body);
  if (!as) {
    if (!plain)
      return unsupported();
    return *plain;
  }
  if (body == storageDescr(*as) ||
      body == ("V" + llvm::Twine(byteSize(*as))).str())
    return *as;
  return unsupported();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Splits the file into header text and data.
static Error splitFile(StringRef contents, StringRef &header, StringRef &data) {
  if (!contents.consume_front(kMagic) || contents.size() < 2)
    return llvm::createStringError("not a .npy file: the magic is missing");
  unsigned major = static_cast<unsigned char>(contents[0]);
  unsigned minor = static_cast<unsigned char>(contents[1]);
  contents = contents.drop_front(2);
  if (major < 1 || major > 3 || minor != 0)
    return llvm::createStringError(
        "expected .npy format 1.0, 2.0 or 3.0, found %u.%u", major, minor);
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (contents.size() < lengthBytes)
    return llvm::createStringError("truncated .npy header length");
  uint64_t length = 0;
  std::memcpy(&length, contents.data(), lengthBytes);
  contents = contents.drop_front(lengthBytes);
  if (length > kMaxHeaderBytes || length > contents.size())
    return llvm::createStringError(
        "a .npy header of %llu bytes is too long or truncated",
        static_cast<unsigned long long>(length));
  header = contents.take_front(length);
  data = contents.drop_front(length);
  return Error::success();
}

/// Copies column-major `from` into row-major `to`; rank >= 2, not empty.
static void copyFortran(HostTensor &to, const char *from) {
  size_t rank = to.shape.size();
  unsigned size = byteSize(to.dtype);
  std::vector<int64_t> stride(rank), index(rank, 0);
  int64_t step = 1;
  for (size_t d = 0; d < rank; ++d) {
    stride[d] = step;
    step *= to.shape[d];
  }
  int64_t source = 0;
  for (int64_t i = 0, e = to.elements(); i < e; ++i) {
    std::memcpy(to.data() + i * size, from + source * size, size);
    for (size_t d = rank; d-- > 0;) {
      source += stride[d];
      if (++index[d] < to.shape[d])
        break;
      source -= stride[d] * to.shape[d];
      index[d] = 0;
    }
  }
}

/// Brings stored values into the range of their type.
static Error normalise(HostTensor &tensor) {
  if (tensor.dtype == DType::Bool) {
    for (std::byte &b :
         llvm::MutableArrayRef(tensor.data(), tensor.bytes->size()))
      b = std::byte(b != std::byte(0));
    return Error::success();
  }
  if (tensor.dtype != DType::I4 && tensor.dtype != DType::U4)
    return Error::success();
  int64_t low = tensor.dtype == DType::I4 ? -8 : 0;
  for (int64_t i = 0, e = tensor.elements(); i < e; ++i) {
    int64_t value = tensor.getI64(i);
    if (value < low || value > low + 15)
      return llvm::createStringError(
          "element %lld is %lld, outside %s", static_cast<long long>(i),
          static_cast<long long>(value), name(tensor.dtype).str().c_str());
  }
  return Error::success();
}

Expected<HostTensor>
fusec::parseNpy(StringRef contents, std::optional<DType> as, int64_t maxBytes) {
  StringRef text, data;
  if (Error error = splitFile(contents, text, data))
    return std::move(error);
  Header header;
  if (!HeaderParser(text).parse(header) || !header.descr ||
      !header.fortranOrder || !header.shape)
    return llvm::createStringError(
        "malformed .npy header: expected descr, fortran_order and a shape of "
        "at most %zu dimensions",
        kMaxRank);
  Expected<DType> type = resolveType(*header.descr, as);
  if (!type)
    return type.takeError();
  Expected<int64_t> size = byteCount(*type, *header.shape, maxBytes);
  if (!size)
    return size.takeError();
  // Checked before memory is asked for: a short file cannot ask for much.
  if (static_cast<uint64_t>(*size) != data.size())
    return llvm::createStringError("expected %lld bytes of data, found %zu",
                                   static_cast<long long>(*size), data.size());
  Expected<HostTensor> tensor =
      HostTensor::create(*type, *header.shape, maxBytes);
  if (!tensor)
    return tensor.takeError();
  if (*header.fortranOrder && *size != 0)
    copyFortran(*tensor, data.data());
  else if (*size != 0)
    std::memcpy(tensor->data(), data.data(), data.size());
  if (Error error = normalise(*tensor))
    return std::move(error);
  return tensor;
}

Expected<HostTensor> fusec::readNpy(StringRef path, std::optional<DType> as,
                                    int64_t maxBytes) {
  auto buffer = readRegularFile(path, static_cast<uint64_t>(maxBytes) +
                                          kMaxHeaderBytes + 16);
  if (!buffer)
    return buffer.takeError();
  Expected<HostTensor> tensor = parseNpy((*buffer)->getBuffer(), as, maxBytes);
  if (!tensor)
    return llvm::createStringError("'%s': %s", path.str().c_str(),
                                   llvm::toString(tensor.takeError()).c_str());
  return tensor;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string fusec::formatNpy(const HostTensor &tensor) {
  std::string dict = "{'descr': '";
  dict += byteSize(tensor.dtype) == 1 ? '|' : '<';
  dict += storageDescr(tensor.dtype);
  dict += "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : tensor.shape)
    dict += std::to_string(dim) + ",";
  dict += "), }";
  // Magic, version and length take 10 bytes; data starts at a multiple of 64.
  size_t total = llvm::alignTo(10 + dict.size() + 1, 64);
  dict.resize(total - 11, ' ');
  dict += '\n';

  std::string out = kMagic.str();
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(dict.size() & 0xFF);
  out += static_cast<char>(dict.size() >> 8);
  out += dict;
  if (tensor.bytes && !tensor.bytes->empty())
    out.append(reinterpret_cast<const char *>(tensor.bytes->data()),
               tensor.bytes->size());
  return out;
}

Error fusec::writeNpy(StringRef path, const HostTensor &tensor) {
  std::string contents = formatNpy(tensor);
  return writeFile(path, contents);
}
