// Memory as shaders see it, with what the checks remember of every byte and word.
//
// Who accessed a word last is kept as a Stamp, and what an invocation knows to have happened before
// is kept as times: a workgroup counts its control barriers (one count for storage, one for
// workgroup memory, since a barrier may order only one of them), an invocation counts its releases.
// Two accesses are ordered when the second's invocation knows the first's stamp.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace lanewise::simulator::detail {

struct Stamp {
    std::uint32_t workgroup = 0;  // serial number; 0: no access yet
    std::uint32_t local = 0;      // local invocation index
    std::uint32_t time = 0;       // of its workgroup
    std::uint32_t sync = 0;       // subgroup barriers of its subgroup
    std::uint32_t clock = 0;      // of its invocation
    std::uint32_t code = 0;       // which instruction
    std::uint8_t bytes = 0;       // which of the word's four
    bool atomic = false;
};

// Of four bytes. Two readers are kept, of different workgroups where there are such.
struct Cell {
    std::uint32_t epoch = 0;  // dispatches with a barrier between them are in different epochs
    Stamp write;
    Stamp atomic_write;
    std::array<Stamp, 2> reads;
};

// What is known of foreign workgroups: all accesses before a time, and single invocations' accesses
// up to a clock.
struct Knowledge {
    struct Entry {
        std::uint32_t time = 0;
        std::map<std::uint32_t, std::uint32_t> locals;  // local invocation -> clock
    };
    std::map<std::uint32_t, Entry> workgroups;

    bool covers(const Stamp& stamp) const {
        const auto entry = workgroups.find(stamp.workgroup);
        if (entry == workgroups.end()) return false;
        if (stamp.time < entry->second.time) return true;
        const auto local = entry->second.locals.find(stamp.local);
        return local != entry->second.locals.end() && stamp.clock <= local->second;
    }
    void add(const Knowledge& other) {
        for (const auto& [workgroup, theirs] : other.workgroups) {
            Entry& mine = workgroups[workgroup];
            mine.time = std::max(mine.time, theirs.time);
            for (const auto& [local, clock] : theirs.locals) {
                std::uint32_t& known = mine.locals[local];
                known = std::max(known, clock);
            }
        }
    }
};
// Shared and never changed once made.
using KnowledgePtr = std::shared_ptr<const Knowledge>;

inline KnowledgePtr join(const KnowledgePtr& a, const KnowledgePtr& b) {
    if (!a || a == b) return b;
    if (!b) return a;
    auto made = std::make_shared<Knowledge>(*a);
    made->add(*b);
    return made;
}

// What atomics on a place have released.
struct Released {
    KnowledgePtr device;     // with device scope
    KnowledgePtr workgroup;  // with workgroup scope, by
    std::uint32_t by = 0;    // this workgroup
};

// One buffer, or the workgroup memory of one workgroup.
class MemoryObject {
public:
    std::string name;
    std::span<std::byte> bytes;
    std::vector<std::uint8_t> known;  // by byte: 1 where it was written
    bool is_workgroup = false;
    bool writable = true;
    // An undefined value that is stored here is a fault at once. Otherwise its bytes count as never
    // written, so that the fault is where somebody uses them.
    bool report_undefined = true;
    std::unordered_map<std::uint64_t, Released> released;  // by offset
    std::uint32_t released_epoch = 0;

    void reset(std::span<std::byte> memory, bool is_known) {
        bytes = memory;
        known.assign(memory.size(), is_known ? 1 : 0);
        pages_.clear();
        pages_.resize((memory.size() / 4 + kPage) / kPage);
        released.clear();
    }

    Cell& cell(std::uint64_t offset, std::uint32_t epoch) {
        const std::uint64_t word = offset / 4;
        auto& page = pages_[word / kPage];
        if (!page) page = std::make_unique<std::array<Cell, kPage>>();
        Cell& found = (*page)[word % kPage];
        if (found.epoch != epoch) {
            found = Cell{};
            found.epoch = epoch;
        }
        return found;
    }

private:
    static constexpr std::uint64_t kPage = 256;
    std::vector<std::unique_ptr<std::array<Cell, kPage>>> pages_;
};

}  // namespace lanewise::simulator::detail
