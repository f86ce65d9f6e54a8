// Instructions that move values between registers, and what is known of undefined ones.

#include <fmt/format.h>
#include <algorithm>

#include "src/simulator/lane_loops.hpp"

namespace lanewise::simulator::detail {

std::uint32_t Context::reason_of(FaultKind kind, const Code& code) const {
    return static_cast<std::uint32_t>(kind) << 24 | index_of(code);
}

void Context::set_undefined(Place place, LaneMask which, std::uint32_t reason) {
    const auto slot = static_cast<std::size_t>(place);
    subgroup->undefined[slot] = subgroup->undefined[slot] | which;
    subgroup->reason[slot] = reason;
    subgroup->has_undefined = true;
}

void Context::move(Place from, Place to, std::uint32_t count) {
    const std::uint64_t* a = in(from);
    std::uint64_t* r = out(to);
    if (all) {
        std::copy_n(a, std::size_t{count} * lanes, r);
    } else {
        for (std::size_t part = 0; part < count; ++part)
            for_each_lane(
                mask, [&](std::uint32_t lane) { r[part * lanes + lane] = a[part * lanes + lane]; });
    }
    for (Place part = 0; part < static_cast<Place>(count); ++part) {
        const LaneMask spoiled = from >= 0 ? undefined(from + part) & mask : LaneMask{};
        if (subgroup->has_undefined) set_defined(to + part, mask);
        if (spoiled.any())
            set_undefined(to + part, spoiled,
                          subgroup->reason[static_cast<std::size_t>(from + part)]);
    }
}

void Context::report_use(const Code& code, Place place, LaneMask spoiled, const char* what) {
    const std::uint32_t reason = subgroup->reason[static_cast<std::size_t>(place)];
    const auto kind = static_cast<FaultKind>(reason >> 24);
    const std::uint32_t origin = reason & 0xffffff;
    if (Fault* made = fault(kind, program->code[origin], spoiled.lowest(), index_of(code))) {
        std::string source = kind == FaultKind::inactive_lane
                                 ? "read from a lane that is not active"
                                 : "that was never written";
        if (const auto found = engine->origins.find(reason); found != engine->origins.end()) {
            made->buffer = found->second.buffer;
            made->offset = found->second.offset;
            source += fmt::format(", of {} at byte {},", made->buffer, made->offset);
        }
        made->message = fmt::format("a value {} is used as {} ({} lane{})", source, what,
                                    spoiled.count(), spoiled.count() == 1 ? "" : "s");
    }
    set_defined(place, spoiled);  // said once
}

void Context::use(const Code& code, std::size_t operand, const char* what) {
    if (!subgroup->has_undefined || code.operand[operand] < 0) return;
    for (std::uint32_t part = 0; part < code.size[operand]; ++part) {
        const Place place = code.operand[operand] + static_cast<Place>(part);
        const LaneMask spoiled = undefined(place) & mask;
        if (spoiled.any()) report_use(code, place, spoiled, what);
    }
}

void run_copy(Context& c, const Code& k) {
    const std::uint64_t* a = c.in(k.operand[0]);
    std::uint64_t* r = c.out(k.result);
    const std::uint32_t from = k.extra;
    const std::uint32_t to = k.aux;
    if (from == to) {
        each_slot(c, k, [=](std::size_t i) { r[i] = a[i]; });
        return;
    }
    each_lane(c, [&](std::uint32_t lane) {
        if (from < to) {
            const std::uint32_t parts = to / from;
            for (std::size_t i = 0; i < k.count; ++i) {
                std::uint64_t word = 0;
                for (std::uint32_t j = 0; j < parts; ++j)
                    word |= a[(i * parts + j) * c.lanes + lane] << (j * from);
                r[i * c.lanes + lane] = word;
            }
        } else {
            const std::uint32_t parts = from / to;
            for (std::size_t i = 0; i < k.count; ++i) {
                const std::uint64_t word = a[i / parts * c.lanes + lane] >> (i % parts * to);
                r[i * c.lanes + lane] = word & ((std::uint64_t{1} << to) - 1);
            }
        }
    });
}

void run_undefined(Context& c, const Code& k) {
    std::uint64_t* r = c.out(k.result);
    each_slot(c, k, [=](std::size_t i) { r[i] = 0; });
    for (std::uint32_t i = 0; i < k.count; ++i)
        c.set_undefined(k.result + static_cast<Place>(i), c.mask,
                        c.reason_of(FaultKind::uninitialized_read, k));
}

void run_gather(Context& c, const Code& k) {
    const std::vector<Place>& list = c.program->lists[k.extra];
    for (std::size_t i = 0; i < list.size(); ++i)
        c.move(list[i], k.result + static_cast<Place>(i), 1);
}

void run_extract_dynamic(Context& c, const Code& k) {
    const std::uint64_t* a = c.in(k.operand[0]);
    const std::uint64_t* index = c.in(k.operand[1]);
    std::uint64_t* r = c.out(k.result);
    each_lane(c, [&](std::uint32_t lane) {
        if (index[lane] < k.size[0]) {
            r[lane] = a[index[lane] * c.lanes + lane];
            return;
        }
        r[lane] = 0;
        if (Fault* fault = c.fault(FaultKind::out_of_bounds, k, lane))
            fault->message = fmt::format("component {} of a vector of {}", index[lane], k.size[0]);
    });
}

void run_insert_dynamic(Context& c, const Code& k) {
    c.move(k.operand[0], k.result, k.count);
    const std::uint64_t* value = c.in(k.operand[1]);
    const std::uint64_t* index = c.in(k.operand[2]);
    std::uint64_t* r = c.out(k.result);
    each_lane(c, [&](std::uint32_t lane) {
        if (index[lane] < k.count) {
            r[index[lane] * c.lanes + lane] = value[lane];
        } else if (Fault* fault = c.fault(FaultKind::out_of_bounds, k, lane)) {
            fault->message = fmt::format("component {} of a vector of {}", index[lane], k.count);
        }
    });
}

// The value that is not selected may be undefined: that is how shuffles are guarded.
void run_select(Context& c, const Code& k) {
    const std::uint64_t* condition = c.in(k.operand[0]);
    const std::uint64_t* a = c.in(k.operand[1]);
    const std::uint64_t* b = c.in(k.operand[2]);
    std::uint64_t* r = c.out(k.result);
    const bool scalar = k.size[0] == 1;
    if (scalar) {
        const std::size_t lanes = c.lanes;
        each_slot(c, k, [=](std::size_t i) { r[i] = condition[i % lanes] != 0 ? a[i] : b[i]; });
    } else {
        each_slot(c, k, [=](std::size_t i) { r[i] = condition[i] != 0 ? a[i] : b[i]; });
    }
    if (!c.subgroup->has_undefined) return;
    for (std::uint32_t i = 0; i < k.count; ++i) {
        const auto part = static_cast<Place>(i);
        const std::size_t at = scalar ? 0 : std::size_t{i} * c.lanes;
        LaneMask chosen;
        each_lane(c, [&](std::uint32_t lane) {
            if (condition[at + lane] != 0) chosen.set(lane);
        });
        const auto of = [&](std::size_t operand, std::uint32_t count) {
            const Place p = k.operand[operand];
            return p < 0 ? LaneMask{} : c.undefined(p + (count == 1 ? 0 : part)) & c.mask;
        };
        const LaneMask from_condition = of(0, k.size[0]);
        const LaneMask from_a = of(1, k.size[1]) & chosen;
        const LaneMask from_b = of(2, k.size[2]) - chosen;
        c.set_defined(k.result + part, c.mask);
        const auto spoil = [&](LaneMask which, std::size_t operand, std::uint32_t count) {
            if (!which.any()) return;
            const Place p = k.operand[operand] + (count == 1 ? 0 : part);
            c.set_undefined(k.result + part, which,
                            c.subgroup->reason[static_cast<std::size_t>(p)]);
        };
        spoil(from_condition, 0, k.size[0]);
        spoil(from_a, 1, k.size[1]);
        spoil(from_b, 2, k.size[2]);
    }
}

}  // namespace lanewise::simulator::detail
