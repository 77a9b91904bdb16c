// Where libelf's memory is noted while the vDSO is parsed: on the page of the dispatch table, which
// every process writes anyway and which attach closes afterwards.
#include "core/discover/vdso_image_memory.h"

#include "core/serve/dispatch.h"

namespace vvarclock::discover {

// NOLINTNEXTLINE(cppcoreguidelines-interfaces-global-init): its address is a constant
constinit void** const kLibelfMemorySlot = &serve::dispatch.until_attach;

}  // namespace vvarclock::discover
