"""A force written in Python: two magnets on pendulums repel each other. The energy it stores is checked."""

import numpy as np

import linkwork as lw

STRENGTH = 0.5  # N m^2


def repel(t, state):
    """Force and torque about the centre of mass of each body, in ground axes."""
    left, right = state["left"], state["right"]
    apart = right.position - left.position
    push = STRENGTH / np.linalg.norm(apart) ** 3 * apart
    return {"left": (-push, np.zeros(3)), "right": (push, np.zeros(3))}


model = lw.Model("magnets", gravity=(0, 0, -9.81))
for name, x, speed in (("left", -0.1, 0.8), ("right", 0.1, 0.0)):
    model.add(lw.Body(name, mass=0.4, inertia=(1e-3, 1e-3, 1e-4), position=(x, 0, -0.5), velocity=(speed, 0, 0)))
    model.add(lw.Revolute(f"{name} pin", model.ground, name, point=(x, 0, 0), axis=(0, 1, 0)))
model.add(lw.UserForce("magnets", ("left", "right"), repel))

# the guess for the velocities lacks the rotation that the pins ask for; the run starts from the nearest consistent ones
result = model.simulate(5.0, rtol=1e-9, atol=1e-9)
print(result)
print(result.initial_correction)

# kinetic energy, height and the potential of the magnets together are constant
distance = np.linalg.norm(result["right"].position - result["left"].position, axis=1)
total = result.energy.total + STRENGTH / distance
print(f"energy changes by {np.ptp(total):.1e} J while {np.ptp(result.energy.kinetic):.3f} J go to and fro")
assert np.ptp(total) < 1e-6
result.plot("left pin.angle", "right pin.angle", title="Two magnets", path="user_force.png")
