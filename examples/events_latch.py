"""Events with consequences: a falling arm bounces on a stop, loses speed each time, and a latch ends the run.

The action of an event may set velocities. What it leaves is brought back onto the constraints, in the metric of the
masses, as the impulses of the joints would do it.
"""

import linkwork as lw

RESTITUTION = 0.7


def bounce(state):
    arm = state["arm"]
    arm.angular_velocity = -RESTITUTION * arm.angular_velocity
    print(f"  bounce at t = {state.t:.4f} s, leaves with {arm.angular_velocity[2]:.3f} rad/s")


model = lw.Model("latch", gravity=(0, -9.81, 0))
model.add(lw.Body("arm", mass=3.0, inertia=(0.01, 1.0, 1.0), position=(1, 0, 0)))
model.add(lw.Revolute("pin", model.ground, "arm", point=(0, 0, 0), axis=(0, 0, 1)))

# the stop is at -1 rad; the latch catches when an upswing ends (the rate falls through zero) for the fourth time
model.add(lw.Event("stop", lambda state: state["pin"].angle + 1.0, direction=-1, action=bounce))
tops = []


def latch(state):
    tops.append(float(state["pin"].angle))
    if len(tops) == 4:
        state.stop()


model.add(lw.Event("top", "pin.rate", direction=-1, action=latch))

result = model.simulate(20.0, rtol=1e-9, atol=1e-9)
print(result)
print("heights of the upswings:", ", ".join(f"{angle:.4f}" for angle in tops), "rad")
assert result.status.name == "stopped"
result.plot("pin.angle", "pin.rate", title="Bounces and a latch", path="events_latch.png")
