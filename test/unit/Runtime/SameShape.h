//===- SameShape.h - functions that are called alike ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_RUNTIME_SAMESHAPE_H
#define FUSEC_TEST_UNIT_RUNTIME_SAMESHAPE_H

#include <type_traits>

namespace fusec::runtime {

// Two types that are passed alike: pointers alike, and integers or enumerations
// of one size.
template <typename Ours, typename Theirs>
constexpr bool passedAlike =
    std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
    std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs> &&
    sizeof(Ours) == sizeof(Theirs);

template <typename Ours, typename Theirs>
struct SameShape : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameShape<R (*)(A...), S (*)(B...)>
    : std::bool_constant<passedAlike<R, S> && (passedAlike<A, B> && ...)> {};

} // namespace fusec::runtime

#endif // FUSEC_TEST_UNIT_RUNTIME_SAMESHAPE_H
