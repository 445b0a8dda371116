"""A driven cam lifts a roller: the lift follows from the shape, and the run tells what the motor must give."""

import numpy as np

import linkwork as lw

# an eccentric disc with a nose, as points of its outline in the plane of the cam
angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
radius = 0.04 + 0.01 * np.exp(-((angle - np.pi) ** 2) / 0.5)
outline = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
ROLLER = 0.008

model = lw.Model("cam", gravity=(0, -9.81, 0))
model.add(lw.Body("cam", mass=0.8, inertia=(4e-4, 4e-4, 8e-4)))
model.add(lw.Body("valve", mass=0.15, inertia=(2e-4, 1e-5, 2e-4), position=(0, 0.05, 0)))
model.add(lw.Revolute("shaft", model.ground, "cam", point=(0, 0, 0), axis=(0, 0, 1)))
model.add(lw.Translational("guide", model.ground, "valve", point=(0, 0.05, 0), axis=(0, 1, 0)))
# the outline runs to the left, so that points outside it have negative distances
model.add(lw.PointOnCurve("contact", "cam", "valve", point=(0, 0, 0), curve=outline, closed=True, offset=-ROLLER))
model.add(lw.Spring("return", on="guide", stiffness=2000, free_length=-0.02))
model.add(lw.Driver("motor", on="shaft", function="60*t"))

# fully driven: no equation of motion is integrated, and forces follow from the accelerations
result = model.kinematics(np.linspace(0, 2 * np.pi / 60, 241))
lift = result["valve"].position[:, 1]
print(f"lift from {1e3 * lift.min():.2f} to {1e3 * lift.max():.2f} mm")
assert abs(lift.max() - (radius.max() + ROLLER)) < 1e-4
push = result["contact"].effort.ravel()
print(f"contact force {np.abs(push).min():.1f} to {np.abs(push).max():.1f} N")
print(f"torque of the motor between {result['motor'].effort.min():.3f} and {result['motor'].effort.max():.3f} N m")
result.plot(
    "valve.position.y", "valve.acceleration.y", "motor.effort", title="A cam at 60 rad/s", path="cam_driver.png"
)
