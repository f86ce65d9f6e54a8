// The machine at work: workgroups, their subgroups, and the fragments of a subgroup, which are the
// lanes that run together. run.cpp says how fragments part and meet.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "lanewise/simulator.hpp"
#include "src/simulator/lane_mask.hpp"
#include "src/simulator/memory.hpp"
#include "src/simulator/program.hpp"

namespace lanewise::simulator::detail {

struct Fragment;
struct Workgroup;

// Subgroups of a workgroup that wait for each other where core SPIR-V makes control flow uniform
// again: only at Reconvergence::weakest.
struct WorkgroupScope {
    std::uint32_t expected = 0;
    std::uint32_t arrived = 0;
    bool broken = false;
};

// A construct that lanes of a subgroup are in, and its end, where they may meet.
struct Scope {
    enum class Kind : std::uint8_t { selection, loop, iteration, call };
    Kind kind = Kind::selection;
    bool joins = true;         // the lanes wait for each other at the end
    bool broken = false;       // some left by another way
    std::uint32_t target = 0;  // block; of calls the code to go on with
    std::uint32_t header = 0;  // block
    std::uint32_t apart_at_entry = 0;
    bool uniform_at_entry = false;
    LaneMask entered;
    LaneMask running;  // inside, not yet arrived
    LaneMask left;
    std::vector<std::unique_ptr<Fragment>> arrived;
    std::shared_ptr<WorkgroupScope> shared;
};

struct Fragment {
    enum class State : std::uint8_t { ready, at_barrier, at_branch, at_merge };
    LaneMask mask;
    std::uint32_t pc = 0;
    State state = State::ready;
    std::uint32_t apart =
        0;                 // 1 + the code at which it went on without lanes that it should have met
    bool uniform = false;  // the whole workgroup is known to run here together
    std::vector<Scope*> scopes;
    std::vector<std::uint32_t> calls;  // code of the calls that it is in
    std::shared_ptr<WorkgroupScope> waits_for;
    std::uint64_t decision = 0;  // at_branch: the value that all lanes agree on
    bool agreed = false;
};

// The release that an invocation's next atomic publishes.
struct PendingRelease {
    bool valid = false;
    std::uint32_t time = 0;
    std::uint32_t clock = 0;
    KnowledgePtr known;
};

struct LaneOrdering {
    std::uint32_t clock = 1;
    PendingRelease release_device;     // by a fence of device scope
    PendingRelease release_workgroup;  // by any fence
    KnowledgePtr acquired;             // known to this invocation alone
    KnowledgePtr pending_device;       // read by atomics, to be acquired by a fence
    KnowledgePtr pending_workgroup;
};

struct Subgroup {
    std::uint32_t id = 0;
    Workgroup* workgroup = nullptr;
    LaneMask present;
    LaneMask alive;
    LaneMask dirty;         // lanes with storage writes since their last fence
    LaneMask dirty_device;  // and since their last one of device scope
    std::uint32_t sync = 0;
    std::array<std::uint32_t, kMaxLanes> local{};
    std::vector<std::uint64_t> registers;
    std::vector<LaneMask> undefined;    // by slot
    std::vector<std::uint32_t> reason;  // by slot: kind << 24 | code
    bool has_undefined = false;         // some value is; variables that were never written aside
    std::vector<std::unique_ptr<Fragment>> fragments;
    std::size_t next_fragment = 0;
    std::vector<LaneOrdering> ordering;  // by lane
};

struct Workgroup {
    std::uint32_t serial = 0;
    std::uint32_t linear = 0;
    std::array<std::uint32_t, 3> id{};
    std::vector<Subgroup> subgroups;
    std::vector<std::uint32_t> subgroup_of;  // by local invocation index
    std::vector<std::byte> bytes;
    MemoryObject memory;
    std::uint32_t memory_time = 1;   // control barriers that order workgroup memory
    std::uint32_t storage_time = 1;  // and storage
    KnowledgePtr known;
    std::size_t next_subgroup = 0;
    std::uint64_t instructions = 0;
    bool starved = false;
};

// What a shader sees under a binding number or from an address on: an object, or a range of it.
struct View {
    MemoryObject* object = nullptr;
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;  // as shaders see it; 0: none

    View() = default;
    explicit View(MemoryObject& whole, std::uint64_t at = 0)
        : object(&whole), bytes(whole.bytes.size()), address(at) {}
    std::string name() const;
};

struct Dispatch {
    const Program* program = nullptr;
    std::string pass;
    std::array<std::uint32_t, 3> groups{1, 1, 1};
    std::vector<View> bindings;  // in the order of Program::bindings
    std::span<std::byte> push_constants;
    std::uint32_t subgroup_size = 32;
    bool full_subgroups = false;
};

class Engine;

// What handlers see: the fragment that runs.
class Context {
public:
    Engine* engine = nullptr;
    const Program* program = nullptr;
    Workgroup* workgroup = nullptr;
    Subgroup* subgroup = nullptr;
    Fragment* fragment = nullptr;
    LaneMask mask;
    bool all = false;  // no other lane of the subgroup is alive: lanes need not be told apart
    std::uint32_t lanes = 0;
    std::uint64_t* registers = nullptr;
    const std::uint64_t* constants = nullptr;

    const std::uint64_t* in(Place place) const {
        return place >= 0 ? registers + static_cast<std::size_t>(place) * lanes
                          : constants + static_cast<std::size_t>(~place) * lanes;
    }
    std::uint64_t* out(Place place) const {
        return registers + static_cast<std::size_t>(place) * lanes;
    }

    // Records a fault of the instruction `code` in `lane`; null when it is one too many or was seen
    // before, so that messages are made only where they are kept.
    Fault* fault(FaultKind kind, const Code& code, std::uint32_t lane,
                 std::uint32_t other_code = ~0u);

    // Undefinedness, by slot.
    LaneMask undefined(Place place) const {
        return place >= 0 ? subgroup->undefined[static_cast<std::size_t>(place)] : LaneMask{};
    }
    void set_undefined(Place place, LaneMask which, std::uint32_t reason);
    void set_defined(Place place, LaneMask which) {
        LaneMask& held = subgroup->undefined[static_cast<std::size_t>(place)];
        held = held - which;
    }
    // Copies values and undefinedness of the running lanes.
    void move(Place from, Place to, std::uint32_t count);
    // Reports the use of an undefined value, as `what`.
    void use(const Code& code, std::size_t operand, const char* what);
    void report_use(const Code& code, Place place, LaneMask spoiled, const char* what);
    std::uint32_t reason_of(FaultKind kind, const Code& code) const;
    std::uint32_t index_of(const Code& code) const {
        return static_cast<std::uint32_t>(&code - program->code.data());
    }
    // Before a subgroup operation.
    void check_group_operation(const Code& code);
};

class Engine {
public:
    explicit Engine(const Machine& described) : machine(described), random(described.seed) {}

    Machine machine;
    std::vector<Fault> faults;
    std::uint64_t instructions = 0;
    std::uint64_t invocation_instructions = 0;
    bool stopped = false;
    std::mt19937_64 random;
    std::uint32_t epoch = 1;
    Context context;

    void run(const Dispatch& dispatch);
    // A memory barrier between dispatches: all before is ordered before all after.
    void barrier_between_dispatches() { ++epoch; }
    // What physical addresses may reach.
    std::vector<View> addressable;

    const Dispatch* dispatch = nullptr;
    MemoryObject push_constant_object;

    struct BadPointer {
        std::string text;
    };
    std::deque<BadPointer> bad_pointers;

    // Where an undefined value came from, where that was memory: by reason.
    struct Origin {
        std::string buffer;
        std::uint64_t offset = 0;
    };
    std::map<std::uint32_t, Origin> origins;

    View view(std::uint64_t number) {
        if (number == kWorkgroupObject) return View(context.workgroup->memory);
        if (number == kPushConstantObject) return View(push_constant_object);
        const std::uint64_t binding = number - kFirstBinding;
        return binding < dispatch->bindings.size() ? dispatch->bindings[binding] : View();
    }

    Fault* add_fault(FaultKind kind, std::uint32_t code, std::uint32_t other);
    SourceLine line_of(std::uint32_t code) const;

private:
    std::unique_ptr<Workgroup> start_workgroup(std::uint32_t linear);
    void place_lanes(Workgroup& workgroup);
    bool step_workgroup(Workgroup& workgroup);
    bool finished(const Workgroup& workgroup) const;
    void run_fragment(Subgroup& subgroup, Fragment& fragment, std::uint64_t budget);

    // Each returns the fragment when it goes on running, null when it waits or has ended.
    Fragment* take_edge(Subgroup& subgroup, Fragment& fragment, std::uint32_t edge);
    Fragment* enter_block(Subgroup& subgroup, Fragment& fragment, std::uint32_t block);
    Fragment* begin_block(Subgroup& subgroup, Fragment& fragment, std::uint32_t block);
    Fragment* arrive(Subgroup& subgroup, Fragment& fragment, std::size_t at);
    Fragment* resume(Subgroup& subgroup, Fragment& fragment, Scope& scope, bool joined);
    Fragment* branch(Subgroup& subgroup, Fragment& fragment, const Code& code);
    Fragment* split(Subgroup& subgroup, Fragment& fragment,
                    const std::vector<std::pair<std::uint32_t, LaneMask>>& ways);
    Fragment* call(Subgroup& subgroup, Fragment& fragment, const Code& code);
    Fragment* return_from(Subgroup& subgroup, Fragment& fragment, const Code& code);
    void leave(Subgroup& subgroup, Scope& scope, LaneMask mask);
    void complete(Subgroup& subgroup, Scope& scope);
    void pop_scopes(Subgroup& subgroup, Fragment& fragment, std::size_t keep);
    void push_scope(Fragment& fragment, const Subgroup& subgroup, Scope::Kind kind,
                    std::uint32_t target, std::uint32_t header);
    std::unique_ptr<Fragment> take_out(Subgroup& subgroup, Fragment& fragment);
    void break_shared(WorkgroupScope& scope);

    void focus(Subgroup& subgroup, Fragment& fragment);
    void enter_function(const CodeFunction& function);
    bool resolve_barrier(Workgroup& workgroup);
    bool resolve_branches(Workgroup& workgroup);
    bool release_stalled(Workgroup& workgroup);
    void order_at_barrier(Workgroup& workgroup, std::uint64_t semantics);
    void flow_undefined(const Code& code);

    std::map<std::tuple<FaultKind, const Program*, std::uint32_t, std::uint32_t>, std::size_t>
        seen_;
    std::vector<std::uint64_t> constants_;
    std::uint32_t next_serial_ = 1;
    std::vector<std::unique_ptr<Workgroup>> spare_;
};

// limit_exceeded when the registers of the workgroups that are under way at a time would not fit
// memory: how large they are is for the shader to say.
Result<void> check_size(const Machine& machine, const Dispatch& dispatch);

// What one instruction counts as: values are large only where a shader means harm.
inline std::uint64_t cost_of(std::uint32_t slots) { return slots / 16; }

// Fences and subgroup barriers (access.cpp).
void fence(Context& context, LaneMask lanes, std::uint64_t scope, std::uint64_t semantics);
bool is_release(std::uint64_t semantics);
bool is_acquire(std::uint64_t semantics);
inline constexpr std::uint64_t kStorageSemantics = 0x40;     // UniformMemory
inline constexpr std::uint64_t kWorkgroupSemantics = 0x100;  // WorkgroupMemory

// Handlers that the decoder names (access.cpp, group.cpp, values.cpp).
void run_chain(Context&, const Code&);
void run_load_registers(Context&, const Code&);
void run_store_registers(Context&, const Code&);
void run_load_memory(Context&, const Code&);
void run_store_memory(Context&, const Code&);
void run_array_length(Context&, const Code&);
void run_atomic(Context&, const Code&);
void run_memory_barrier(Context&, const Code&);
void run_subgroup_barrier(Context&, const Code&);
void run_gather(Context&, const Code&);  // result slots from a list of places
void run_copy(Context&, const Code&);
void run_undefined(Context&, const Code&);
void run_extract_dynamic(Context&, const Code&);
void run_insert_dynamic(Context&, const Code&);
void run_select(Context&, const Code&);
void run_group(Context&, const Code&);

// The `flags` of pointer codes: aux.
inline constexpr std::uint32_t kSpaceMask = 3;  // Space

}  // namespace lanewise::simulator::detail
