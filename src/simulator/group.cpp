// Subgroup operations: what the lanes of a fragment do together.

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cmath>

#include "src/simulator/lane_loops.hpp"

namespace lanewise::simulator::detail {

std::string lanes_text(LaneMask mask) {
    std::string text;
    std::uint32_t lane = 0;
    while (lane < kMaxLanes) {
        if (!mask.has(lane)) {
            ++lane;
            continue;
        }
        std::uint32_t last = lane;
        while (last + 1 < kMaxLanes && mask.has(last + 1)) ++last;
        if (!text.empty()) text += ", ";
        text += last == lane ? fmt::format("{}", lane) : fmt::format("{}-{}", lane, last);
        lane = last + 1;
    }
    return text.empty() ? "none" : text;
}

void Context::check_group_operation(const Code& code) {
    if (fragment->apart != 0) {
        if (Fault* fault = this->fault(FaultKind::divergent_subgroup_operation, code, mask.lowest(),
                                       fragment->apart - 1)) {
            fault->message = fmt::format(
                "{} by lanes {} alone of {}: they parted before, and at reconvergence level {} "
                "nothing brings "
                "them together again",
                spirv::op_name(code.op), lanes_text(mask), lanes_text(subgroup->present),
                to_text(engine->machine.reconvergence));
        }
        return;
    }
    if (engine->machine.uniform_subgroup_operations && !(mask == subgroup->present)) {
        if (Fault* fault =
                this->fault(FaultKind::divergent_subgroup_operation, code, mask.lowest())) {
            fault->message = fmt::format(
                "{} by lanes {} alone of {}: subgroup operations must be reached by all",
                spirv::op_name(code.op), lanes_text(mask), lanes_text(subgroup->present));
        }
    }
}

namespace {

using U = std::uint64_t;
using spv::Op;

// What undefined values look like: nothing that a right answer would be made of.
constexpr U kGarbage = 0xdeadbeefdeadbeefull;

template <unsigned W>
U combine(Op op, U a, U b) {
    using F = FloatOf<(W < 16 ? 16 : W)>;
    switch (op) {
        case Op::OpGroupNonUniformIAdd: return narrow<W>(a + b);
        case Op::OpGroupNonUniformIMul: return narrow<W>(a * b);
        case Op::OpGroupNonUniformFAdd: return F::store(F::load(a) + F::load(b));
        case Op::OpGroupNonUniformFMul: return F::store(F::load(a) * F::load(b));
        case Op::OpGroupNonUniformUMin: return std::min(a, b);
        case Op::OpGroupNonUniformUMax: return std::max(a, b);
        case Op::OpGroupNonUniformSMin: return widen<W>(b) < widen<W>(a) ? b : a;
        case Op::OpGroupNonUniformSMax: return widen<W>(a) < widen<W>(b) ? b : a;
        // Of a NaN and a number the number is chosen.
        case Op::OpGroupNonUniformFMin:
            return std::isnan(F::load(a)) || F::load(b) < F::load(a) ? b : a;
        case Op::OpGroupNonUniformFMax:
            return std::isnan(F::load(a)) || F::load(a) < F::load(b) ? b : a;
        case Op::OpGroupNonUniformBitwiseAnd:
        case Op::OpGroupNonUniformLogicalAnd: return a & b;
        case Op::OpGroupNonUniformBitwiseOr:
        case Op::OpGroupNonUniformLogicalOr: return a | b;
        default: return a ^ b;
    }
}

U combine(Op op, std::uint32_t width, U a, U b) {
    switch (width) {
        case 8: return combine<8>(op, a, b);
        case 16: return combine<16>(op, a, b);
        case 64: return combine<64>(op, a, b);
        default: return combine<32>(op, a, b);
    }
}

template <unsigned W>
U identity(Op op) {
    using F = FloatOf<(W < 16 ? 16 : W)>;
    switch (op) {
        case Op::OpGroupNonUniformIMul: return 1;
        // -0 is what changes no sum, but GLSL and drivers say 0.
        case Op::OpGroupNonUniformFMul: return F::store(1);
        case Op::OpGroupNonUniformUMin:
        case Op::OpGroupNonUniformBitwiseAnd: return narrow<W>(~U{0});
        case Op::OpGroupNonUniformLogicalAnd: return 1;
        case Op::OpGroupNonUniformSMin: return narrow<W>(~U{0}) >> 1;
        case Op::OpGroupNonUniformSMax: return U{1} << (W - 1);
        case Op::OpGroupNonUniformFMin: return F::store(INFINITY);
        case Op::OpGroupNonUniformFMax: return F::store(-INFINITY);
        default: return 0;
    }
}

U identity(Op op, std::uint32_t width) {
    switch (width) {
        case 8: return identity<8>(op);
        case 16: return identity<16>(op);
        case 64: return identity<64>(op);
        default: return identity<32>(op);
    }
}

LaneMask read_ballot(const Context& c, Place place, std::uint32_t lane) {
    const U* a = c.in(place);
    LaneMask mask;
    mask.low = a[lane] | a[c.lanes + lane] << 32;
    mask.high = a[2 * std::size_t{c.lanes} + lane] | a[3 * std::size_t{c.lanes} + lane] << 32;
    return mask;
}

void write_ballot(Context& c, Place place, std::uint32_t lane, LaneMask mask) {
    U* r = c.out(place);
    r[lane] = narrow<32>(mask.low);
    r[c.lanes + lane] = mask.low >> 32;
    r[2 * std::size_t{c.lanes} + lane] = narrow<32>(mask.high);
    r[3 * std::size_t{c.lanes} + lane] = mask.high >> 32;
}

void arithmetic(Context& c, const Code& k) {
    const auto operation = static_cast<spv::GroupOperation>(k.extra);
    const U* a = c.in(k.operand[0]);
    U* r = c.out(k.result);
    std::uint32_t cluster = c.lanes;
    const bool partitioned = operation == spv::GroupOperation::PartitionedReduceNV ||
                             operation == spv::GroupOperation::PartitionedInclusiveScanNV ||
                             operation == spv::GroupOperation::PartitionedExclusiveScanNV;
    if (operation == spv::GroupOperation::ClusteredReduce) {
        cluster = static_cast<std::uint32_t>(c.in(k.operand[1])[c.mask.lowest()]);
        if (!std::has_single_bit(cluster) || cluster > c.lanes) {
            if (Fault* fault = c.fault(FaultKind::divergent_subgroup_operation, k, c.mask.lowest()))
                fault->message =
                    fmt::format("a cluster of {} lanes in a subgroup of {}", cluster, c.lanes);
            cluster = c.lanes;
        }
    }
    const bool reduce = operation == spv::GroupOperation::Reduce ||
                        operation == spv::GroupOperation::ClusteredReduce ||
                        operation == spv::GroupOperation::PartitionedReduceNV;
    const bool exclusive = operation == spv::GroupOperation::ExclusiveScan ||
                           operation == spv::GroupOperation::PartitionedExclusiveScanNV;
    const auto over = [&](LaneMask members) {
        for (std::size_t part = 0; part < k.count; ++part) {
            const std::size_t at = part * c.lanes;
            bool first = true;
            U sum = identity(k.op, k.width);
            for_each_lane(members, [&](std::uint32_t lane) {
                const U value = a[at + lane];
                if (exclusive) r[at + lane] = sum;
                sum = first ? value : combine(k.op, k.width, sum, value);
                first = false;
                if (!exclusive) r[at + lane] = sum;
            });
            if (reduce) for_each_lane(members, [&](std::uint32_t lane) { r[at + lane] = sum; });
        }
    };
    if (partitioned) {
        LaneMask rest = c.mask;
        while (rest.any()) {
            const LaneMask members = read_ballot(c, k.operand[1], rest.lowest()) & rest;
            if (!members.any()) break;
            over(members);
            rest = rest - members;
        }
        return;
    }
    for (std::uint32_t first = 0; first < c.lanes; first += cluster) {
        const LaneMask members =
            c.mask & (LaneMask::first(first + cluster) - LaneMask::first(first));
        if (members.any()) over(members);
    }
}

// `source(lane)` is the lane that is read.
template <class F>
void shuffle(Context& c, const Code& k, F&& source) {
    const U* a = c.in(k.operand[0]);
    U* r = c.out(k.result);
    LaneMask wrong;
    const U garbage = k.width >= 64 ? kGarbage : kGarbage & ((U{1} << k.width) - 1);
    for (std::size_t part = 0; part < k.count; ++part) {
        each_lane(c, [&](std::uint32_t lane) {
            const U from = source(lane);
            const bool good = from < c.lanes && c.mask.has(static_cast<std::uint32_t>(from));
            r[part * c.lanes + lane] = good ? a[part * c.lanes + from] : garbage;
            if (!good) wrong.set(lane);
        });
    }
    if (c.subgroup->has_undefined) {
        for (Place part = 0; part < static_cast<Place>(k.count); ++part) {
            const LaneMask spoiled =
                k.operand[0] < 0 ? LaneMask{} : c.undefined(k.operand[0] + part);
            c.set_defined(k.result + part, c.mask);
            if (!(spoiled & c.mask).any()) continue;
            const std::uint32_t reason =
                c.subgroup->reason[static_cast<std::size_t>(k.operand[0] + part)];
            each_lane(c, [&](std::uint32_t lane) {
                const U from = source(lane);
                if (from < c.lanes && spoiled.has(static_cast<std::uint32_t>(from)))
                    c.set_undefined(k.result + part, LaneMask::one(lane), reason);
            });
        }
    }
    if (wrong.any()) {
        for (Place part = 0; part < static_cast<Place>(k.count); ++part)
            c.set_undefined(k.result + part, wrong, c.reason_of(FaultKind::inactive_lane, k));
    }
}

// The same lane must be named by all who run.
void check_same(Context& c, const Code& k, const U* index, const char* what) {
    const std::uint32_t lead = c.mask.lowest();
    bool same = true;
    each_lane(c, [&](std::uint32_t lane) { same = same && index[lane] == index[lead]; });
    if (same) return;
    if (Fault* fault = c.fault(FaultKind::divergent_subgroup_operation, k, lead))
        fault->message = fmt::format("{} is not the same in all lanes", what);
}

}  // namespace

void run_group(Context& c, const Code& k) {
    c.check_group_operation(k);
    U* r = k.result == kNoPlace ? nullptr : c.out(k.result);
    const U* a = k.operand[0] == kNoPlace ? nullptr : c.in(k.operand[0]);
    const U* b = k.operand[1] == kNoPlace ? nullptr : c.in(k.operand[1]);
    const auto all_lanes = [&](U value) {
        each_lane(c, [&](std::uint32_t lane) { r[lane] = value; });
    };
    const auto predicate = [&] {
        LaneMask mask;
        each_lane(c, [&](std::uint32_t lane) {
            if (a[lane] != 0) mask.set(lane);
        });
        return mask;
    };
    const std::uint32_t lead = c.mask.lowest();
    bool moves_values = false;
    switch (k.op) {
        case Op::OpGroupNonUniformBroadcast:
        case Op::OpSubgroupReadInvocationKHR:
            c.use(k, 1, "the lane of a broadcast");
            check_same(c, k, b, "the lane of a broadcast");
            shuffle(c, k, [&](std::uint32_t) { return b[lead]; });
            moves_values = true;
            break;
        case Op::OpGroupNonUniformBroadcastFirst:
        case Op::OpSubgroupFirstInvocationKHR:
            shuffle(c, k, [&](std::uint32_t) { return U{lead}; });
            moves_values = true;
            break;
        case Op::OpGroupNonUniformShuffle:
            c.use(k, 1, "the lane of a shuffle");
            shuffle(c, k, [&](std::uint32_t lane) { return b[lane]; });
            moves_values = true;
            break;
        case Op::OpGroupNonUniformShuffleXor:
            c.use(k, 1, "the lane of a shuffle");
            shuffle(c, k, [&](std::uint32_t lane) { return lane ^ b[lane]; });
            moves_values = true;
            break;
        case Op::OpGroupNonUniformShuffleUp:
            c.use(k, 1, "the distance of a shuffle");
            shuffle(c, k, [&](std::uint32_t lane) { return lane - b[lane]; });
            moves_values = true;
            break;
        case Op::OpGroupNonUniformShuffleDown:
            c.use(k, 1, "the distance of a shuffle");
            shuffle(c, k, [&](std::uint32_t lane) { return lane + b[lane]; });
            moves_values = true;
            break;
        case Op::OpGroupNonUniformRotateKHR: {
            c.use(k, 1, "the distance of a rotation");
            check_same(c, k, b, "the distance of a rotation");
            const U cluster = k.operand[2] == kNoPlace ? c.lanes : c.in(k.operand[2])[lead];
            shuffle(c, k, [&](std::uint32_t lane) {
                return (lane & ~(cluster - 1)) | ((lane + b[lane]) & (cluster - 1));
            });
            moves_values = true;
            break;
        }
        case Op::OpGroupNonUniformQuadBroadcast:
            check_same(c, k, b, "the lane of a quad broadcast");
            shuffle(c, k, [&](std::uint32_t lane) { return (lane & ~3u) | (b[lane] & 3); });
            moves_values = true;
            break;
        case Op::OpGroupNonUniformQuadSwap:
            shuffle(c, k, [&](std::uint32_t lane) { return lane ^ (b[lane] + 1); });
            moves_values = true;
            break;
        default: break;
    }
    if (moves_values) return;

    // All others look at the values of all lanes.
    for (std::size_t i = 0; i < 3; ++i)
        if (k.operand[i] != kNoPlace) c.use(k, i, "an operand of a subgroup operation");
    for (Place part = 0; c.subgroup->has_undefined && part < static_cast<Place>(k.count); ++part)
        c.set_defined(k.result + part, c.mask);
    const auto all_equal = [&] {
        bool equal = true;
        for (std::size_t part = 0; part < k.size[0]; ++part) {
            const std::size_t at = part * c.lanes;
            each_lane(c, [&](std::uint32_t lane) {
                bool same = a[at + lane] == a[at + lead];
                // Floats compare as numbers.
                if (k.aux != 0 && k.width == 32)
                    same = FloatOf<32>::load(a[at + lane]) == FloatOf<32>::load(a[at + lead]);
                if (k.aux != 0 && k.width == 64)
                    same = FloatOf<64>::load(a[at + lane]) == FloatOf<64>::load(a[at + lead]);
                equal = equal && same;
            });
        }
        return equal;
    };
    switch (k.op) {
        case Op::OpGroupNonUniformElect:
            each_lane(c, [&](std::uint32_t lane) { r[lane] = lane == lead; });
            break;
        case Op::OpGroupNonUniformAll:
        case Op::OpSubgroupAllKHR: all_lanes(predicate() == c.mask); break;
        case Op::OpGroupNonUniformAny:
        case Op::OpSubgroupAnyKHR: all_lanes(predicate().any()); break;
        case Op::OpGroupNonUniformAllEqual:
        case Op::OpSubgroupAllEqualKHR: all_lanes(all_equal()); break;
        case Op::OpGroupNonUniformBallot:
        case Op::OpSubgroupBallotKHR: {
            const LaneMask mask = predicate();
            each_lane(c, [&](std::uint32_t lane) { write_ballot(c, k.result, lane, mask); });
            break;
        }
        case Op::OpGroupNonUniformInverseBallot:
            each_lane(c, [&](std::uint32_t lane) {
                r[lane] = read_ballot(c, k.operand[0], lane).has(lane);
            });
            break;
        case Op::OpGroupNonUniformBallotBitExtract:
            each_lane(c, [&](std::uint32_t lane) {
                const LaneMask mask = read_ballot(c, k.operand[0], lane);
                r[lane] = b[lane] < c.lanes && mask.has(static_cast<std::uint32_t>(b[lane]));
            });
            break;
        case Op::OpGroupNonUniformBallotBitCount:
            each_lane(c, [&](std::uint32_t lane) {
                const LaneMask mask = read_ballot(c, k.operand[0], lane) & LaneMask::first(c.lanes);
                switch (static_cast<spv::GroupOperation>(k.extra)) {
                    case spv::GroupOperation::InclusiveScan:
                        r[lane] = (mask & LaneMask::first(lane + 1)).count();
                        break;
                    case spv::GroupOperation::ExclusiveScan:
                        r[lane] = (mask & LaneMask::first(lane)).count();
                        break;
                    default: r[lane] = mask.count(); break;
                }
            });
            break;
        case Op::OpGroupNonUniformBallotFindLSB:
        case Op::OpGroupNonUniformBallotFindMSB:
            each_lane(c, [&](std::uint32_t lane) {
                const LaneMask mask = read_ballot(c, k.operand[0], lane) & LaneMask::first(c.lanes);
                if (!mask.any()) {
                    r[lane] = narrow<32>(~U{0});
                } else {
                    r[lane] =
                        k.op == Op::OpGroupNonUniformBallotFindLSB ? mask.lowest() : mask.highest();
                }
            });
            break;
        case Op::OpGroupNonUniformPartitionNV:
            each_lane(c, [&](std::uint32_t lane) {
                LaneMask same;
                each_lane(c, [&](std::uint32_t other) {
                    bool equal = true;
                    for (std::size_t part = 0; part < k.size[0]; ++part)
                        equal = equal && a[part * c.lanes + lane] == a[part * c.lanes + other];
                    if (equal) same.set(other);
                });
                write_ballot(c, k.result, lane, same);
            });
            break;
        default: arithmetic(c, k); break;
    }
}

}  // namespace lanewise::simulator::detail
