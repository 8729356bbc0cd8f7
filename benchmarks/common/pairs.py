# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two contenders that took turns: the median of their ratio, and a bound.

Turn i gives a pair of times under the same clocks and heat, so what is judged
is the median of the pairs' ratios and not the ratio of two medians. Its lower
bound assumes no distribution: of n ratios in order, the k-th is below the
median with probability P(B >= k), where B is binomial(n, 1/2); the largest k
for which that is at least 95 % gives the bound (the sign test turned round: H.
A. David and H. N. Nagaraja, Order Statistics, 3rd edition, Wiley 2003, section
7.1). Pairs count as independent of each other.
"""

import math
import statistics

#: Pairs that a judgement takes.
LEAST = 30


def lower_rank(count, confidence=0.95):
    """The rank, from 1, of the bound among `count` values; 0 where they are too
    few for any."""
    within = (1 - confidence) * 2 ** count
    total = 0
    for rank in range(count + 1):
        total += math.comb(count, rank)  # 2^count P(B <= rank)
        if total > within:
            return rank
    return count


def judge(ratios):
    """{"median", "lower", "pairs"} of ratios; "lower" is None where they are
    too few."""
    ratios = sorted(ratios)
    rank = lower_rank(len(ratios))
    return {"median": statistics.median(ratios),
            "lower": ratios[rank - 1] if rank else None, "pairs": len(ratios)}
