// Loads, stores, atomics, fences, and the checks on them.

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cstring>

#include "src/simulator/lane_loops.hpp"

namespace lanewise::simulator::detail {
namespace {

using U = std::uint64_t;

enum class Access : std::uint8_t { read, write, atomic_read, atomic_write };

bool writes(Access access) { return access == Access::write || access == Access::atomic_write; }
bool is_atomic(Access access) {
    return access == Access::atomic_read || access == Access::atomic_write;
}

std::uint64_t load_bytes(const std::byte* from, std::uint32_t n) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, n);
    return value;
}

void store_bytes(std::byte* to, std::uint32_t n, std::uint64_t value) {
    std::memcpy(to, &value, n);
}

struct Target {
    MemoryObject* object = nullptr;
    std::uint64_t offset = 0;
};

std::string place_name(const Context& c, const MemoryObject& object, std::uint64_t offset) {
    if (!object.is_workgroup) return object.name;
    for (const Program::WorkgroupVariable& variable : c.program->workgroup_variables) {
        if (offset >= variable.offset &&
            offset < variable.offset + std::max<std::uint64_t>(variable.bytes, 1))
            return fmt::format("workgroup memory {}", variable.name);
    }
    return object.name;
}

void place(const Context& c, Fault& fault, const MemoryObject& object, std::uint64_t offset) {
    fault.buffer = place_name(c, object, offset);
    fault.offset = offset;
    if (object.is_workgroup) {
        for (const Program::WorkgroupVariable& variable : c.program->workgroup_variables) {
            if (offset >= variable.offset && offset < variable.offset + variable.bytes)
                fault.offset = offset - variable.offset;
        }
    }
}

// Where a pointer leads, when `bytes` there may be accessed; otherwise the fault is recorded and
// the machine's behaviour applied: false means that nothing is to be accessed.
bool resolve(Context& c, const Code& k, std::uint32_t lane, U pointer, Space space,
             std::uint32_t bytes, std::uint32_t alignment, Access access, Target& target) {
    Engine& engine = *c.engine;
    View view;
    U offset = 0;  // in it
    const auto refuse = [&] {
        if (engine.machine.out_of_bounds == OutOfBounds::trap) engine.stopped = true;
        return false;
    };
    if (space == Space::physical) {
        for (const View& reached : engine.addressable) {
            if (pointer >= reached.address &&
                pointer < reached.address + std::max<U>(reached.bytes, 1)) {
                view = reached;
                offset = pointer - reached.address;
            }
        }
        if (view.object == nullptr) {
            if (Fault* fault = c.fault(FaultKind::out_of_bounds, k, lane)) {
                fault->message = fmt::format("{} of {} bytes at address {:#x}, where no buffer is",
                                             writes(access) ? "write" : "read", bytes, pointer);
                // Past the end of which one?
                for (const View& reached : engine.addressable) {
                    const U end = reached.address + reached.bytes;
                    if (pointer >= end && pointer < end + (U{1} << 32)) {
                        fault->buffer = reached.object->name;
                        fault->offset = reached.begin + pointer - reached.address;
                        fault->message += fmt::format(" ({} bytes past the end of {})",
                                                      pointer - end, reached.name());
                    }
                }
            }
            return refuse();
        }
    } else {
        if ((pointer & kBadPointer) != 0) {
            const U number = pointer & ~kBadPointer;
            if (Fault* fault = c.fault(FaultKind::out_of_bounds, k, lane)) {
                fault->message = fmt::format(
                    "{} through an index out of bounds: {}", writes(access) ? "write" : "read",
                    number < engine.bad_pointers.size() ? engine.bad_pointers[number].text
                                                        : std::string("unknown"));
            }
            return refuse();
        }
        view = engine.view(pointer >> kObjectShift);
        offset = pointer & kOffsetMask;
        if (view.object == nullptr) {
            if (Fault* fault = c.fault(FaultKind::out_of_bounds, k, lane))
                fault->message = "no buffer is bound there";
            return refuse();
        }
    }
    MemoryObject& object = *view.object;
    target = {view.object, view.begin + offset};
    if (offset + bytes > view.bytes) {
        if (Fault* fault = c.fault(FaultKind::out_of_bounds, k, lane)) {
            place(c, *fault, object, target.offset);
            const bool whole = view.bytes == object.bytes.size();
            fault->message = fmt::format(
                "{} of bytes {} to {} of {}, which has {}", writes(access) ? "write" : "read",
                offset, offset + bytes - 1, whole ? fault->buffer : view.name(), view.bytes);
        }
        if (engine.machine.out_of_bounds == OutOfBounds::clamp && view.bytes >= bytes) {
            target.offset = view.begin + (view.bytes - bytes) / std::max(1u, alignment) *
                                             std::max(1u, alignment);
            return true;
        }
        return refuse();
    }
    const U address = space == Space::physical ? pointer : offset;
    if (address % alignment != 0) {
        if (Fault* fault = c.fault(FaultKind::misaligned, k, lane)) {
            place(c, *fault, object, target.offset);
            fault->message =
                fmt::format("{} {:#x} is no multiple of {}",
                            space == Space::physical ? "address" : "offset", address, alignment);
        }
    }
    if (writes(access) && !object.writable) {
        if (Fault* fault = c.fault(FaultKind::write_to_read_only, k, lane)) {
            place(c, *fault, object, target.offset);
            fault->message =
                fmt::format("write to {}, which is declared as not written", fault->buffer);
        }
    }
    return true;
}

// Whether the access of `stamp` is ordered before the one that `lane` makes now.
bool ordered(const Context& c, const MemoryObject& object, const Stamp& stamp, std::uint32_t lane) {
    const Workgroup& workgroup = *c.workgroup;
    const Subgroup& subgroup = *c.subgroup;
    if (stamp.workgroup == workgroup.serial) {
        if (stamp.local == subgroup.local[lane]) return true;
        if (stamp.time < (object.is_workgroup ? workgroup.memory_time : workgroup.storage_time))
            return true;
        if (workgroup.subgroup_of[stamp.local] == subgroup.id && stamp.sync < subgroup.sync)
            return true;
    }
    if (workgroup.known && workgroup.known->covers(stamp)) return true;
    const KnowledgePtr& mine = subgroup.ordering[lane].acquired;
    return mine && mine->covers(stamp);
}

void report_race(Context& c, const Code& k, std::uint32_t lane, const MemoryObject& object,
                 U offset, const Stamp& stamp, Access access, const char* earlier) {
    Fault* fault = c.fault(FaultKind::race, k, lane, stamp.code);
    if (fault == nullptr) return;
    place(c, *fault, object, offset);
    const char* now = access == Access::read          ? "read"
                      : access == Access::write       ? "write"
                      : access == Access::atomic_read ? "atomic read"
                                                      : "atomic write";
    const std::string who =
        stamp.workgroup == c.workgroup->serial
            ? fmt::format("invocation {} of the same workgroup (subgroup {})", stamp.local,
                          stamp.local < c.workgroup->subgroup_of.size()
                              ? c.workgroup->subgroup_of[stamp.local]
                              : 0)
            : fmt::format("invocation {} of another workgroup", stamp.local);
    fault->message = fmt::format("{} of {} at byte {}: nothing orders it after the {} by {}", now,
                                 fault->buffer, fault->offset, earlier, who);
}

// Checks an access against those before it and remembers it.
void note(Context& c, const Code& k, std::uint32_t lane, MemoryObject& object, U offset,
          std::uint32_t bytes, Access access) {
    const std::uint32_t code = c.index_of(k);
    const U end = offset + bytes;
    for (U word = offset / 4; word * 4 < end; ++word) {
        std::uint8_t touched = 0;
        for (U byte = 0; byte < 4; ++byte) {
            const U at = word * 4 + byte;
            if (at >= offset && at < end) touched |= static_cast<std::uint8_t>(1u << byte);
        }
        Cell& cell = object.cell(word * 4, c.engine->epoch);
        Stamp me;
        me.workgroup = c.workgroup->serial;
        me.local = c.subgroup->local[lane];
        me.time = object.is_workgroup ? c.workgroup->memory_time : c.workgroup->storage_time;
        me.sync = c.subgroup->sync;
        me.clock = c.subgroup->ordering[lane].clock;
        me.code = code;
        me.bytes = touched;
        me.atomic = is_atomic(access);
        const auto conflicts = [&](const Stamp& stamp) {
            return stamp.workgroup != 0 && (stamp.bytes & touched) != 0 &&
                   !ordered(c, object, stamp, lane);
        };
        if (conflicts(cell.write)) {
            report_race(c, k, lane, object, word * 4, cell.write, access, "write");
        } else if (!me.atomic && conflicts(cell.atomic_write)) {
            report_race(c, k, lane, object, word * 4, cell.atomic_write, access, "atomic write");
        } else if (writes(access)) {
            for (const Stamp& read : cell.reads) {
                if (read.atomic && me.atomic) continue;
                if (conflicts(read)) {
                    report_race(c, k, lane, object, word * 4, read, access,
                                read.atomic ? "atomic read" : "read");
                    break;
                }
            }
        }
        if (access == Access::write) {
            cell.write = me;
        } else if (access == Access::atomic_write) {
            cell.atomic_write = me;
        } else {
            // Two readers that are not ordered to each other: a later write meets at least one of
            // them.
            Stamp& first = cell.reads[0];
            if (first.workgroup == 0 ||
                (first.workgroup == me.workgroup && first.local == me.local) ||
                ordered(c, object, first, lane)) {
                first = me;
            } else {
                cell.reads[1] = me;
            }
        }
    }
}

bool check_races(const Context& c, const MemoryObject& object) {
    return c.engine->machine.check_races && object.writable;
}

bool is_known(const MemoryObject& object, U offset, std::uint32_t bytes) {
    const std::uint8_t* known = object.known.data() + offset;
    if (bytes == 4) {
        std::uint32_t all = 0;
        std::memcpy(&all, known, 4);
        return all == 0x01010101u;
    }
    return std::all_of(known, known + bytes, [](std::uint8_t byte) { return byte != 0; });
}

// For atomics, which use what they read at once.
void check_known(Context& c, const Code& k, std::uint32_t lane, const MemoryObject& object,
                 U offset, std::uint32_t bytes) {
    if (is_known(object, offset, bytes)) return;
    if (Fault* fault = c.fault(FaultKind::uninitialized_read, k, lane)) {
        place(c, *fault, object, offset);
        fault->message = fmt::format("read of bytes {} to {} of {}, which nobody has written",
                                     fault->offset, fault->offset + bytes - 1, fault->buffer);
    }
}

// Bad pointers are larger than any slot.
bool in_registers(const Context& c, U slot, std::uint32_t count) {
    return slot <= c.program->slots && count <= c.program->slots - slot;
}

}  // namespace

std::string View::name() const {
    if (bytes == object->bytes.size()) return object->name;
    return fmt::format("{}[{}, +{}]", object->name, begin, bytes);
}

void run_chain(Context& c, const Code& k) {
    const Chain& chain = c.program->chains[k.extra];
    const U* base = c.in(k.operand[0]);
    U* r = c.out(k.result);
    const auto space = static_cast<Space>(k.aux & kSpaceMask);
    const std::size_t lanes = c.lanes;
    if (c.subgroup->has_undefined) {
        LaneMask spoiled = c.undefined(k.operand[0]) & c.mask;
        Place from = k.operand[0];
        for (const ChainStep& step : chain.steps) {
            const LaneMask more = c.undefined(step.index) & c.mask;
            if (more.any()) from = step.index;
            spoiled = spoiled | more;
        }
        c.set_defined(k.result, c.mask);
        if (spoiled.any())
            c.set_undefined(k.result, spoiled, c.subgroup->reason[static_cast<std::size_t>(from)]);
    }
    const auto bad = [&](std::uint32_t lane, std::int64_t index, U length) {
        // The fault comes when the pointer is used; here only its text is kept.
        if (c.engine->bad_pointers.size() < 4096) {
            c.engine->bad_pointers.push_back(
                {length != 0 ? fmt::format("index {} of an array of {}", index, length)
                             : fmt::format("index {}", index)});
        }
        r[lane] = kBadPointer | (c.engine->bad_pointers.size() - 1);
    };
    // All lanes, those included that do not run: they only compute nonsense. Not where it is kept.
    const auto compute = [&](std::uint32_t lane) {
        U pointer = base[lane];
        if (space == Space::physical) {
            pointer += chain.offset;
            for (const ChainStep& step : chain.steps) {
                const std::int64_t index = step.is_signed
                                               ? widen(c.in(step.index)[lane], step.width)
                                               : static_cast<std::int64_t>(c.in(step.index)[lane]);
                if (step.length != 0 && (index < 0 || static_cast<U>(index) >= step.length)) {
                    pointer = kBadPointer;  // no address reaches this high
                    break;
                }
                pointer += static_cast<U>(index) * step.stride;
            }
            r[lane] = pointer;
            return;
        }
        if ((pointer & kBadPointer) != 0) {
            r[lane] = pointer;
            return;
        }
        U offset = chain.offset;
        for (const ChainStep& step : chain.steps) {
            const std::int64_t index = step.is_signed
                                           ? widen(c.in(step.index)[lane], step.width)
                                           : static_cast<std::int64_t>(c.in(step.index)[lane]);
            const U most = step.length != 0 ? step.length : (U{1} << 31);
            if (static_cast<U>(index) >= most) {
                bad(lane, index, step.length);
                return;
            }
            offset = std::min(offset + static_cast<U>(index) * step.stride, kOffsetMask + 1);
        }
        if ((pointer & kOffsetMask) + offset > kOffsetMask) {
            bad(lane, static_cast<std::int64_t>(offset), 0);
            return;
        }
        r[lane] = pointer + offset;
    };
    if (chain.steps.size() == 1 && c.all && space == Space::objects) {
        // The common case: one index into a buffer or an array.
        const ChainStep& step = chain.steps[0];
        const U* index = c.in(step.index);
        const U most = step.length != 0 ? step.length : (U{1} << 31);
        U wrong = 0;
        for (std::size_t i = 0; i < lanes; ++i) {
            const U offset = chain.offset + index[i] * step.stride;
            wrong |= static_cast<U>(index[i] >= most) | (base[i] >> 63) |
                     ((base[i] & kOffsetMask) + offset) >> kObjectShift;
            r[i] = base[i] + offset;
        }
        if (wrong == 0) return;
    }
    each_lane(c, compute);
}

void run_load_registers(Context& c, const Code& k) {
    const U* pointer = c.in(k.operand[0]);
    c.use(k, 0, "a pointer");
    const std::uint32_t lead = c.mask.lowest();
    bool same = in_registers(c, pointer[lead], k.count);
    if (k.operand[0] >= 0)
        each_lane(c, [&](std::uint32_t lane) { same = same && pointer[lane] == pointer[lead]; });
    const auto spoil = [&](Place to, LaneMask which, std::size_t slot) {
        // A variable that was never written: the fault is where its value is used.
        const bool variable = c.subgroup->reason[slot] == 0;
        c.set_undefined(
            to, which,
            variable ? c.reason_of(FaultKind::uninitialized_read, k) : c.subgroup->reason[slot]);
    };
    U* r = c.out(k.result);
    if (same) {
        const auto from = static_cast<std::size_t>(pointer[lead]);
        const U* a = c.registers + from * c.lanes;
        if (c.all) {
            std::copy_n(a, std::size_t{k.count} * c.lanes, r);
        } else {
            for (std::size_t part = 0; part < k.count; ++part)
                each_lane(c, [&](std::uint32_t lane) {
                    r[part * c.lanes + lane] = a[part * c.lanes + lane];
                });
        }
        for (std::uint32_t part = 0; part < k.count; ++part) {
            const LaneMask spoiled = c.subgroup->undefined[from + part] & c.mask;
            const Place to = k.result + static_cast<Place>(part);
            if (c.subgroup->has_undefined) c.set_defined(to, c.mask);
            if (spoiled.any()) spoil(to, spoiled, from + part);
        }
        return;
    }
    for (std::uint32_t part = 0; part < k.count; ++part) {
        if (c.subgroup->has_undefined) c.set_defined(k.result + static_cast<Place>(part), c.mask);
    }
    each_lane(c, [&](std::uint32_t lane) {
        const U p = pointer[lane];
        if (!in_registers(c, p, k.count)) {
            for (std::size_t part = 0; part < k.count; ++part) r[part * c.lanes + lane] = 0;
            if (Fault* fault = c.fault(FaultKind::out_of_bounds, k, lane)) {
                const U number = p & ~kBadPointer;
                fault->message = fmt::format("read of a variable out of bounds: {}",
                                             number < c.engine->bad_pointers.size()
                                                 ? c.engine->bad_pointers[number].text
                                                 : std::string("a bad pointer"));
            }
            if (c.engine->machine.out_of_bounds == OutOfBounds::trap) c.engine->stopped = true;
            return;
        }
        for (std::size_t part = 0; part < k.count; ++part) {
            r[part * c.lanes + lane] = c.registers[(p + part) * c.lanes + lane];
            if (c.subgroup->undefined[p + part].has(lane))
                spoil(k.result + static_cast<Place>(part), LaneMask::one(lane), p + part);
        }
    });
}

void run_store_registers(Context& c, const Code& k) {
    const U* pointer = c.in(k.operand[0]);
    const U* value = c.in(k.operand[1]);
    c.use(k, 0, "a pointer");
    const auto one = [&](std::uint32_t lane) {
        const U p = pointer[lane];
        if (!in_registers(c, p, k.size[1])) {
            if (Fault* fault = c.fault(FaultKind::out_of_bounds, k, lane)) {
                const U number = p & ~kBadPointer;
                fault->message = fmt::format("write to a variable out of bounds: {}",
                                             number < c.engine->bad_pointers.size()
                                                 ? c.engine->bad_pointers[number].text
                                                 : std::string("a bad pointer"));
            }
            if (c.engine->machine.out_of_bounds == OutOfBounds::trap) c.engine->stopped = true;
            return;
        }
        for (std::size_t part = 0; part < k.size[1]; ++part) {
            c.registers[(p + part) * c.lanes + lane] = value[part * c.lanes + lane];
            const Place to = static_cast<Place>(p + part);
            c.set_defined(to, LaneMask::one(lane));
            const Place from =
                k.operand[1] < 0 ? k.operand[1] : k.operand[1] + static_cast<Place>(part);
            if (c.undefined(from).has(lane))
                c.set_undefined(to, LaneMask::one(lane),
                                c.subgroup->reason[static_cast<std::size_t>(from)]);
        }
    };
    const std::uint32_t lead = c.mask.lowest();
    bool same = in_registers(c, pointer[lead], k.size[1]);
    if (k.operand[0] >= 0)
        each_lane(c, [&](std::uint32_t lane) { same = same && pointer[lane] == pointer[lead]; });
    if (!same) {
        each_lane(c, one);
        return;
    }
    const auto to = static_cast<Place>(pointer[lead]);
    for (std::uint32_t part = 0; part < k.size[1]; ++part)
        c.set_defined(to + static_cast<Place>(part), c.mask);
    c.move(k.operand[1], to, k.size[1]);
}

void run_load_memory(Context& c, const Code& k) {
    const Layout& layout = c.program->layouts[k.extra];
    const auto space = static_cast<Space>(k.aux & kSpaceMask);
    const U* pointer = c.in(k.operand[0]);
    U* r = c.out(k.result);
    c.use(k, 0, "an address");
    for (std::uint32_t part = 0; c.subgroup->has_undefined && part < k.count; ++part)
        c.set_defined(k.result + static_cast<Place>(part), c.mask);
    each_lane(c, [&](std::uint32_t lane) {
        Target target;
        if (!resolve(c, k, lane, pointer[lane], space, layout.bytes, layout.alignment, Access::read,
                     target)) {
            for (std::size_t i = 0; i < layout.leaves.size(); ++i) r[i * c.lanes + lane] = 0;
            return;
        }
        MemoryObject& object = *target.object;
        const bool races = check_races(c, object);
        for (std::size_t i = 0; i < layout.leaves.size(); ++i) {
            const Leaf& leaf = layout.leaves[i];
            const U at = target.offset + leaf.offset;
            if (!is_known(object, at, leaf.bytes)) {
                const std::uint32_t reason = c.reason_of(FaultKind::uninitialized_read, k);
                c.set_undefined(k.result + static_cast<Place>(i), LaneMask::one(lane), reason);
                if (!c.engine->origins.contains(reason)) {
                    Fault where;
                    place(c, where, object, at);
                    c.engine->origins[reason] = {where.buffer, where.offset};
                }
            }
            if (races) note(c, k, lane, object, at, leaf.bytes, Access::read);
            r[i * c.lanes + lane] = load_bytes(object.bytes.data() + at, leaf.bytes);
        }
    });
}

void run_store_memory(Context& c, const Code& k) {
    const Layout& layout = c.program->layouts[k.extra];
    const auto space = static_cast<Space>(k.aux & kSpaceMask);
    const U* pointer = c.in(k.operand[0]);
    const U* value = c.in(k.operand[1]);
    c.use(k, 0, "an address");
    const bool may_spoil = c.subgroup->has_undefined && k.operand[1] >= 0;
    bool storage = false;
    each_lane(c, [&](std::uint32_t lane) {
        Target target;
        if (!resolve(c, k, lane, pointer[lane], space, layout.bytes, layout.alignment,
                     Access::write, target))
            return;
        MemoryObject& object = *target.object;
        storage = storage || !object.is_workgroup;
        const bool races = check_races(c, object);
        for (std::size_t i = 0; i < layout.leaves.size(); ++i) {
            const Leaf& leaf = layout.leaves[i];
            const U at = target.offset + leaf.offset;
            if (races) note(c, k, lane, object, at, leaf.bytes, Access::write);
            store_bytes(object.bytes.data() + at, leaf.bytes, value[i * c.lanes + lane]);
            bool known = true;
            if (may_spoil) {
                const Place from = k.operand[1] + static_cast<Place>(i);
                if (c.undefined(from).has(lane)) {
                    known = object.report_undefined;
                    if (known) c.report_use(k, from, c.undefined(from) & c.mask, "what is stored");
                }
            }
            std::memset(object.known.data() + at, known ? 1 : 0, leaf.bytes);
        }
    });
    if (storage) {
        c.subgroup->dirty = c.subgroup->dirty | c.mask;
        c.subgroup->dirty_device = c.subgroup->dirty_device | c.mask;
    }
}

void run_array_length(Context& c, const Code& k) {
    const U* pointer = c.in(k.operand[0]);
    U* r = c.out(k.result);
    each_lane(c, [&](std::uint32_t lane) {
        const U bytes = c.engine->view(pointer[lane] >> kObjectShift).bytes;
        r[lane] = bytes > k.extra && k.aux != 0 ? (bytes - k.extra) / k.aux : 0;
    });
}

bool is_release(std::uint64_t semantics) {
    return (semantics & 0x1c) != 0;
}  // Release, AcquireRelease, SeqCst
bool is_acquire(std::uint64_t semantics) { return (semantics & 0x1a) != 0; }

namespace {

bool device_scope(std::uint64_t scope) {
    return scope == static_cast<U>(spv::Scope::Device) ||
           scope == static_cast<U>(spv::Scope::QueueFamily) ||
           scope == static_cast<U>(spv::Scope::CrossDevice);
}

// What an atomic publishes of a release.
KnowledgePtr knowledge_of(const Context& c, std::uint32_t lane, const PendingRelease& release) {
    auto made =
        release.known ? std::make_shared<Knowledge>(*release.known) : std::make_shared<Knowledge>();
    Knowledge::Entry& entry = made->workgroups[c.workgroup->serial];
    entry.time = std::max(entry.time, release.time);
    std::uint32_t& clock = entry.locals[c.subgroup->local[lane]];
    clock = std::max(clock, release.clock);
    return made;
}

void make_release(Context& c, std::uint32_t lane, bool device) {
    LaneOrdering& mine = c.subgroup->ordering[lane];
    PendingRelease release;
    release.valid = true;
    release.time = c.workgroup->storage_time;
    release.clock = mine.clock++;
    release.known = join(c.workgroup->known, mine.acquired);
    if (device) mine.release_device = release;
    mine.release_workgroup = std::move(release);
}

void acquire(LaneOrdering& mine, bool device) {
    mine.acquired = join(mine.acquired, mine.pending_workgroup);
    if (device) mine.acquired = join(mine.acquired, mine.pending_device);
}

// The ordering that an atomic gives: what was released here before is read, and what this
// invocation has released goes with its write.
void order_atomic(Context& c, std::uint32_t lane, MemoryObject& object, U offset, U scope,
                  U semantics, bool reads, bool writes_value) {
    if (object.released_epoch != c.engine->epoch) {
        object.released.clear();
        object.released_epoch = c.engine->epoch;
    }
    LaneOrdering& mine = c.subgroup->ordering[lane];
    const bool device = device_scope(scope);
    if (is_release(semantics) && writes_value) make_release(c, lane, device);
    const auto found = object.released.find(offset);
    if (reads && found != object.released.end()) {
        Released& released = found->second;
        if (device) mine.pending_device = join(mine.pending_device, released.device);
        if (released.by == c.workgroup->serial)
            mine.pending_workgroup = join(mine.pending_workgroup, released.workgroup);
    }
    if (writes_value) {
        if (!reads) object.released.erase(offset);  // a plain store begins anew; others carry on
        if (mine.release_workgroup.valid) {
            Released& released = object.released[offset];
            if (mine.release_device.valid && device)
                released.device = join(released.device, knowledge_of(c, lane, mine.release_device));
            if (released.by != c.workgroup->serial) {
                released.workgroup.reset();
                released.by = c.workgroup->serial;
            }
            released.workgroup =
                join(released.workgroup, knowledge_of(c, lane, mine.release_workgroup));
        }
    }
    if (is_acquire(semantics) && reads) acquire(mine, device);
}

template <unsigned W>
U atomic_result(spv::Op op, U old, U value, U comparator) {
    using F = FloatOf<(W < 16 ? 16 : W)>;
    switch (op) {
        case spv::Op::OpAtomicStore:
        case spv::Op::OpAtomicExchange: return value;
        case spv::Op::OpAtomicCompareExchange: return old == comparator ? value : old;
        case spv::Op::OpAtomicIIncrement: return narrow<W>(old + 1);
        case spv::Op::OpAtomicIDecrement: return narrow<W>(old - 1);
        case spv::Op::OpAtomicIAdd: return narrow<W>(old + value);
        case spv::Op::OpAtomicISub: return narrow<W>(old - value);
        case spv::Op::OpAtomicUMin: return std::min(old, value);
        case spv::Op::OpAtomicUMax: return std::max(old, value);
        case spv::Op::OpAtomicSMin: return widen<W>(value) < widen<W>(old) ? value : old;
        case spv::Op::OpAtomicSMax: return widen<W>(old) < widen<W>(value) ? value : old;
        case spv::Op::OpAtomicAnd: return old & value;
        case spv::Op::OpAtomicOr: return old | value;
        case spv::Op::OpAtomicXor: return old ^ value;
        case spv::Op::OpAtomicFAddEXT: return F::store(F::load(old) + F::load(value));
        case spv::Op::OpAtomicFMinEXT: return F::load(value) < F::load(old) ? value : old;
        case spv::Op::OpAtomicFMaxEXT: return F::load(old) < F::load(value) ? value : old;
        default: return old;
    }
}

U atomic_result(spv::Op op, std::uint32_t width, U old, U value, U comparator) {
    switch (width) {
        case 8: return atomic_result<8>(op, old, value, comparator);
        case 16: return atomic_result<16>(op, old, value, comparator);
        case 64: return atomic_result<64>(op, old, value, comparator);
        default: return atomic_result<32>(op, old, value, comparator);
    }
}

}  // namespace

void run_atomic(Context& c, const Code& k) {
    const auto space = static_cast<Space>(k.aux & kSpaceMask);
    const U scope = k.aux >> 8;
    const U semantics = k.extra;
    const std::uint32_t bytes = k.width / 8;
    const U* pointer = c.in(k.operand[0]);
    const U* value = k.operand[1] == kNoPlace ? nullptr : c.in(k.operand[1]);
    const U* comparator = k.operand[2] == kNoPlace ? nullptr : c.in(k.operand[2]);
    U* r = k.result == kNoPlace ? nullptr : c.out(k.result);
    const bool reads = k.op != spv::Op::OpAtomicStore;
    const bool writes_value = k.op != spv::Op::OpAtomicLoad;
    c.use(k, 0, "an address");
    if (value != nullptr) c.use(k, 1, "the operand of an atomic");
    if (comparator != nullptr) c.use(k, 2, "the operand of an atomic");
    if (r != nullptr && c.subgroup->has_undefined) c.set_defined(k.result, c.mask);
    each_lane(c, [&](std::uint32_t lane) {
        Target target;
        const Access access = writes_value ? Access::atomic_write : Access::atomic_read;
        if (!resolve(c, k, lane, pointer[lane], space, bytes, bytes, access, target)) {
            if (r != nullptr) r[lane] = 0;
            return;
        }
        MemoryObject& object = *target.object;
        if (reads) check_known(c, k, lane, object, target.offset, bytes);
        order_atomic(c, lane, object, target.offset, scope, semantics, reads, writes_value);
        if (check_races(c, object)) note(c, k, lane, object, target.offset, bytes, access);
        std::byte* at = object.bytes.data() + target.offset;
        const U old = load_bytes(at, bytes);
        if (r != nullptr) r[lane] = old;
        if (!writes_value) return;
        store_bytes(at, bytes,
                    atomic_result(k.op, k.width, old, value == nullptr ? 0 : value[lane],
                                  comparator == nullptr ? 0 : comparator[lane]));
        std::memset(object.known.data() + target.offset, 1, bytes);
    });
}

void fence(Context& c, LaneMask lanes, std::uint64_t scope, std::uint64_t semantics) {
    if ((semantics & (kStorageSemantics | kWorkgroupSemantics)) == 0) return;
    const bool device = device_scope(scope);
    for_each_lane(lanes, [&](std::uint32_t lane) {
        if (is_acquire(semantics)) acquire(c.subgroup->ordering[lane], device);
        if (is_release(semantics)) make_release(c, lane, device);
    });
    if (is_release(semantics) && (semantics & kStorageSemantics) != 0) {
        c.subgroup->dirty = c.subgroup->dirty - lanes;
        if (device) c.subgroup->dirty_device = c.subgroup->dirty_device - lanes;
    }
}

void run_memory_barrier(Context& c, const Code& k) { fence(c, c.mask, k.aux, k.extra); }

void run_subgroup_barrier(Context& c, const Code& k) {
    c.check_group_operation(k);
    fence(c, c.mask, k.aux, k.extra);
    if (!is_release(k.extra)) return;
    // Lanes that are elsewhere count as waited for: a race with them may stay unseen.
    ++c.subgroup->sync;
    // What one lane did or knows, all know now, and pass on with what they release.
    if ((k.extra & kStorageSemantics) == 0) return;
    auto known = std::make_shared<Knowledge>();
    Knowledge::Entry& own = known->workgroups[c.workgroup->serial];
    for_each_lane(c.mask, [&](std::uint32_t lane) {
        LaneOrdering& mine = c.subgroup->ordering[lane];
        std::uint32_t& clock = own.locals[c.subgroup->local[lane]];
        clock = std::max(clock, mine.clock++);
        if (mine.acquired) known->add(*mine.acquired);
    });
    for_each_lane(c.mask, [&](std::uint32_t lane) { c.subgroup->ordering[lane].acquired = known; });
}

}  // namespace lanewise::simulator::detail
