//===- TensorData.cpp - the values of an ONNX tensor ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor's payload is one of: raw bytes, one typed list, an external file.
// Which typed list goes with which element type is the format's choice: narrow
// integers, bool and the 16- and 8-bit floats (as bit patterns) are in
// int32_data, 4-bit integers two to a byte.
//===----------------------------------------------------------------------===//
#include "fusec/Frontend/Onnx/TensorData.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>

using namespace fusec;
using namespace fusec::onnx;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// Raw data from this size on is shared with the file rather than copied.
static constexpr uint64_t kMinSharedBytes = 4096;

Expected<DType> onnx::toDType(DataType type) {
  switch (type) {
  case DataType::Float:
    return DType::F32;
  case DataType::UInt8:
    return DType::U8;
  case DataType::Int8:
    return DType::I8;
  case DataType::UInt16:
    return DType::U16;
  case DataType::Int16:
    return DType::I16;
  case DataType::Int32:
    return DType::I32;
  case DataType::Int64:
    return DType::I64;
  case DataType::Bool:
    return DType::Bool;
  case DataType::Float16:
    return DType::F16;
  case DataType::Double:
    return DType::F64;
  case DataType::UInt32:
    return DType::U32;
  case DataType::UInt64:
    return DType::U64;
  case DataType::BFloat16:
    return DType::BF16;
  case DataType::Float8E4M3FN:
    return DType::F8E4M3;
  case DataType::Float8E5M2:
    return DType::F8E5M2;
  case DataType::UInt4:
    return DType::U4;
  case DataType::Int4:
    return DType::I4;
  default:
    return llvm::createStringError("unsupported element type %s",
                                   dataTypeName(type).c_str());
  }
}

bool onnx::isDataType(DataType type) {
  return type > DataType::Undefined && type <= DataType::Float6E3M2;
}

std::string onnx::dataTypeName(DataType type) {
  static constexpr StringRef kNames[] = {
      "UNDEFINED",      "FLOAT",        "UINT8",          "INT8",
      "UINT16",         "INT16",        "INT32",          "INT64",
      "STRING",         "BOOL",         "FLOAT16",        "DOUBLE",
      "UINT32",         "UINT64",       "COMPLEX64",      "COMPLEX128",
      "BFLOAT16",       "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
      "FLOAT8E5M2FNUZ", "UINT4",        "INT4",           "FLOAT4E2M1",
      "FLOAT8E8M0",     "UINT2",        "INT2",           "FLOAT6E2M3",
      "FLOAT6E3M2"};
  auto index = static_cast<uint32_t>(type);
  if (index < std::size(kNames))
    return kNames[index].str();
  return "data type " + std::to_string(static_cast<int32_t>(type));
}

//===----------------------------------------------------------------------===//
// Raw bytes
//===----------------------------------------------------------------------===//

static bool isFourBit(DType type) {
  return type == DType::I4 || type == DType::U4;
}

/// Bytes in a file of a tensor that has `bytes` bytes in memory: there, 4-bit
/// elements are packed.
static uint64_t fileBytes(DType type, int64_t bytes) {
  uint64_t size = static_cast<uint64_t>(bytes);
  return isFourBit(type) ? (size + 1) / 2 : size;
}
static uint64_t fileBytes(const HostTensor &tensor) {
  return fileBytes(tensor.dtype, static_cast<int64_t>(tensor.bytes->size()));
}

/// The element `index` of packed 4-bit data: the low half comes first.
static void setNibble(HostTensor &tensor, int64_t index, uint8_t byte) {
  uint8_t nibble = (index & 1) ? byte >> 4 : byte & 15;
  tensor.setI64(index, nibble); // I4 wraps to its sign
}

/// Raw data of a file is what memory holds; bool is normalised and 4-bit
/// integers are unpacked.
static bool isAsInMemory(DType type) {
  return type != DType::Bool && !isFourBit(type);
}

static Error fillFromRaw(HostTensor &tensor, StringRef raw) {
  if (raw.size() != fileBytes(tensor))
    return llvm::createStringError(
        "expected %llu bytes of data, found %zu",
        static_cast<unsigned long long>(fileBytes(tensor)), raw.size());
  if (isFourBit(tensor.dtype)) {
    for (int64_t i = 0, e = tensor.elements(); i < e; ++i)
      setNibble(tensor, i, static_cast<uint8_t>(raw[i / 2]));
    return Error::success();
  }
  if (!raw.empty())
    std::memcpy(tensor.data(), raw.data(), raw.size());
  if (tensor.dtype == DType::Bool)
    for (std::byte &b :
         llvm::MutableArrayRef(tensor.data(), tensor.bytes->size()))
      b = std::byte(b != std::byte(0));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Typed lists
//===----------------------------------------------------------------------===//

static Error checkCount(size_t found, uint64_t expected) {
  if (found == expected)
    return Error::success();
  return llvm::createStringError("expected %llu values, found %zu",
                                 static_cast<unsigned long long>(expected),
                                 found);
}

static Error outOfRange(const HostTensor &tensor, int64_t value) {
  return llvm::createStringError("value %lld does not fit type %s",
                                 static_cast<long long>(value),
                                 name(tensor.dtype).str().c_str());
}

/// Lists whose elements are the tensor's own, bit by bit.
template <typename T>
static Error fillFromSame(HostTensor &tensor, const std::vector<T> &values) {
  if (Error error = checkCount(values.size(), tensor.elements()))
    return error;
  if (!values.empty())
    std::memcpy(tensor.data(), values.data(), values.size() * sizeof(T));
  return Error::success();
}

static Error fillFromInt32(HostTensor &tensor,
                           const std::vector<int32_t> &values) {
  bool packed = isFourBit(tensor.dtype);
  uint64_t expected = packed ? fileBytes(tensor) : tensor.elements();
  if (Error error = checkCount(values.size(), expected))
    return error;
  // Floats are bit patterns; packed halves share an unsigned byte.
  unsigned bits = packed ? 8 : 8 * byteSize(tensor.dtype);
  bool isSigned = isSignedInt(tensor.dtype) && !packed;
  for (int64_t i = 0, e = tensor.elements(); i < e; ++i) {
    int64_t value = values[packed ? i / 2 : i];
    if (packed && value < 0 && value >= -128)
      value += 256; // some writers extend the sign of the byte
    int64_t low = isSigned ? -(int64_t(1) << (bits - 1)) : 0;
    int64_t high = low + (int64_t(1) << bits) - 1;
    if (value < low || value > high)
      return outOfRange(tensor, value);
    if (packed)
      setNibble(tensor, i, static_cast<uint8_t>(value));
    else if (tensor.dtype == DType::Bool)
      tensor.setI64(i, value);
    else
      tensor.setBits(i, static_cast<uint64_t>(value));
  }
  return Error::success();
}

static Error fillFromUInt64(HostTensor &tensor,
                            const std::vector<uint64_t> &values) {
  if (Error error = checkCount(values.size(), tensor.elements()))
    return error;
  for (size_t i = 0; i < values.size(); ++i) {
    if (tensor.dtype == DType::U32 && values[i] > UINT32_MAX)
      return outOfRange(tensor, static_cast<int64_t>(values[i]));
    tensor.setBits(static_cast<int64_t>(i), values[i]);
  }
  return Error::success();
}

static Error fillFromLists(HostTensor &tensor, const Tensor &from) {
  switch (tensor.dtype) {
  case DType::F32:
    return fillFromSame(tensor, from.floatData);
  case DType::F64:
    return fillFromSame(tensor, from.doubleData);
  case DType::I64:
    return fillFromSame(tensor, from.int64Data);
  case DType::U32:
  case DType::U64:
    return fillFromUInt64(tensor, from.uint64Data);
  default:
    return fillFromInt32(tensor, from.int32Data);
  }
}

/// How many kinds of payload a tensor carries.
static unsigned countPayloads(const Tensor &t) {
  return (t.rawData.has_value() && !t.rawData->empty()) + !t.floatData.empty() +
         !t.int32Data.empty() + !t.int64Data.empty() + !t.doubleData.empty() +
         !t.uint64Data.empty() + (t.stringCount != 0);
}

/// An upper bound of the tensor bytes that the payload in the file can fill.
static uint64_t payloadBytes(const Tensor &t) {
  return t.floatData.size() * 4 + t.doubleData.size() * 8 +
         t.int32Data.size() * 4 + t.int64Data.size() * 8 +
         t.uint64Data.size() * 8 + (t.rawData ? t.rawData->size() * 2 : 0);
}

//===----------------------------------------------------------------------===//
// External data
//===----------------------------------------------------------------------===//

namespace {
/// The keys of external data that fusec acts on; others are ignored.
struct ExternalInfo {
  std::optional<StringRef> location;
  std::optional<uint64_t> offset, length;
};
} // namespace

static Error parseSize(StringRef key, StringRef text,
                       std::optional<uint64_t> &out) {
  uint64_t value;
  if (text.empty() || !llvm::all_of(text, llvm::isDigit) ||
      text.getAsInteger(10, value))
    return llvm::createStringError(
        "expected a non-negative 64-bit integer as external data's %s, found "
        "'%s'",
        key.str().c_str(), text.take_front(32).str().c_str());
  if (out)
    return llvm::createStringError("external data has two values for '%s'",
                                   key.str().c_str());
  out = value;
  return Error::success();
}

static Expected<ExternalInfo> parseExternalInfo(const Tensor &tensor) {
  ExternalInfo info;
  for (const StringPair &entry : tensor.externalData) {
    if (entry.key == "location") {
      if (info.location)
        return llvm::createStringError(
            "external data has two values for 'location'");
      info.location = entry.value;
    } else if (entry.key == "offset") {
      if (Error error = parseSize(entry.key, entry.value, info.offset))
        return std::move(error);
    } else if (entry.key == "length") {
      if (Error error = parseSize(entry.key, entry.value, info.length))
        return std::move(error);
    }
  }
  if (!info.location)
    return llvm::createStringError("external data has no location");
  return info;
}

/// Reads the `expected` bytes of `tensor` from its file.
static Expected<std::vector<std::byte>>
readFromFile(const Tensor &tensor, uint64_t expected,
             const TensorDataOptions &options) {
  Expected<ExternalInfo> info = parseExternalInfo(tensor);
  if (!info)
    return info.takeError();
  if (options.folder.empty())
    return llvm::createStringError(
        "external data needs a model that was read from a file");
  if (info->length && *info->length != expected)
    return llvm::createStringError(
        "expected %llu bytes of external data, found a length of %llu",
        static_cast<unsigned long long>(expected),
        static_cast<unsigned long long>(*info->length));
  return readExternalData(options.folder, *info->location,
                          info->offset.value_or(0), expected, options.maxBytes,
                          options.allowHardLinks);
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

static Expected<HostTensor> decode(const Tensor &tensor,
                                   const TensorDataOptions &options) {
  Expected<DType> type = toDType(tensor.dataType);
  if (!type)
    return type.takeError();
  if (tensor.hasSegment)
    return llvm::createStringError("segmented tensors are not supported");
  unsigned payloads = countPayloads(tensor);
  if (payloads > 1 || (tensor.external && payloads != 0))
    return llvm::createStringError("the values are given more than once");

  Expected<int64_t> size = byteCount(*type, tensor.dims, options.maxBytes);
  if (!size)
    return size.takeError();
  if (*size != 0 && payloads == 0 && !tensor.external)
    return llvm::createStringError("the values are missing");

  // What the file holds is read or compared with the size before memory for
  // the tensor is asked for: a small file cannot ask for much.
  std::vector<std::byte> external;
  if (tensor.external) {
    auto bytes = readFromFile(tensor, fileBytes(*type, *size), options);
    if (!bytes)
      return bytes.takeError();
    external = std::move(*bytes);
  } else if (static_cast<uint64_t>(*size) > payloadBytes(tensor)) {
    return llvm::createStringError(
        "the values are too few: expected %lld bytes",
        static_cast<long long>(*size));
  }
  if (tensor.external && isAsInMemory(*type))
    return HostTensor{*type, tensor.dims,
                      std::make_shared<Bytes>(std::move(external))};
  StringRef raw = tensor.rawData.value_or(StringRef());
  if (options.owner && raw.size() == uint64_t(*size) &&
      raw.size() >= kMinSharedBytes && isAsInMemory(*type))
    return HostTensor{
        *type, tensor.dims,
        std::make_shared<Bytes>(
            llvm::ArrayRef(reinterpret_cast<const std::byte *>(raw.data()),
                           raw.size()),
            options.owner)};
  Expected<HostTensor> out =
      HostTensor::create(*type, tensor.dims, options.maxBytes);
  if (!out)
    return out.takeError();

  if (tensor.external)
    raw = StringRef(reinterpret_cast<const char *>(external.data()),
                    external.size());
  Error error = tensor.external || !raw.empty() ? fillFromRaw(*out, raw)
                : payloads != 0                 ? fillFromLists(*out, tensor)
                                                : Error::success();
  if (error)
    return std::move(error);
  return out;
}

Expected<HostTensor> onnx::decodeTensor(const Tensor &tensor,
                                        const TensorDataOptions &options) {
  Expected<HostTensor> out = decode(tensor, options);
  if (!out)
    return llvm::createStringError("tensor '%s': %s", tensor.name.str().c_str(),
                                   llvm::toString(out.takeError()).c_str());
  return out;
}
