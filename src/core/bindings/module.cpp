#include "system.hpp"

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of linkwork.";
    linkwork::bind_system(m);
    linkwork::bind_run(m);
    linkwork::bind_state_space(m);
    linkwork::bind_bench(m);
    linkwork::bind_slopes(m);
}
