"""Random states of a compiled model, on and off the constraints, and difference quotients: shared by tests."""

import numpy as np


def random_state(compiled, seed=0, spread=0.05, speed=1.0):
    """A state near the initial one with random velocities: t, q, v, memory."""
    random = np.random.default_rng(seed)
    system = compiled.system
    q = system.move(compiled.q, spread * random.uniform(-1, 1, system.nv))
    v = speed * random.uniform(-1, 1, system.nv)
    memory = system.update_memory(0.3, q, compiled.memory)
    return 0.3, q, v, memory


def consistent_velocity(system, t, q, v, memory):
    """The velocity nearest to v that satisfies J v = target."""
    J = system.jacobian(t, q, memory)
    return v + np.linalg.lstsq(J, system.velocity_target(t, q, memory) - J @ v, rcond=1e-10)[0]


def differentiate(function, n, h=4e-4):
    """Derivative of function(d) at d = 0, n directions, by central differences extrapolated twice: error O(h^6)."""
    columns = []
    for i in range(n):
        d = np.zeros(n)
        quotients = []
        for step in (h, h / 2, h / 4):
            d[i] = step
            plus = np.asarray(function(d), float)
            d[i] = -step
            quotients.append((plus - np.asarray(function(d), float)) / (2 * step))
        first = [(4 * quotients[k + 1] - quotients[k]) / 3 for k in range(2)]
        columns.append((16 * first[1] - first[0]) / 15)
    return np.stack(columns, axis=-1)
