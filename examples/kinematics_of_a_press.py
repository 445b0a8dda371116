"""Kinematics of a driven press: stroke, speed and the torque of the motor against a work load, without integration.

A crank drives a slider through a rod; the work is a force that acts on the last centimetre of the stroke.
"""

import numpy as np

import linkwork as lw

CRANK, ROD = 0.12, 0.45

model = lw.Model("press", gravity=(0, 0, 0))
model.add(lw.PlanarBody("crank", mass=8.0, inertia=0.05, position=(CRANK / 2, 0)))
model.add(lw.PlanarBody("rod", mass=12.0, inertia=0.25, position=(CRANK + ROD / 2, 0)))
model.add(lw.PlanarBody("ram", mass=30.0, inertia=1.0, position=(CRANK + ROD, 0)))
z = (0, 0, 1)
model.add(lw.Revolute("shaft", model.ground, "crank", point=(0, 0, 0), axis=z))
model.add(lw.Revolute("big end", "crank", "rod", point=(CRANK, 0, 0), axis=z))
model.add(lw.Revolute("small end", "rod", "ram", point=(CRANK + ROD, 0, 0), axis=z))
model.add(lw.Translational("slide", model.ground, "ram", point=(CRANK + ROD, 0, 0), axis=(1, 0, 0)))
model.add(lw.Driver("motor", on="shaft", function="pi + 4*pi*t"))
# the displacement counts from the drawing, where the press is closed; the sheet is met 10 mm before
model.add(lw.Spring("sheet", on="slide", force="4e6*max(length + 0.01, 0)"))

times = np.linspace(0, 0.5, 501)
result = model.kinematics(times)

stroke = result["ram"].position[:, 0]
print(f"stroke {1e3 * np.ptp(stroke):.1f} mm (twice the crank is {2e3 * CRANK:.1f})")
print(f"largest speed of the ram {np.abs(result['ram'].velocity[:, 0]).max():.3f} m/s")
torque = result["motor"].effort[:, 0]
print(f"largest torque of the motor {np.abs(torque).max():.0f} N m")
assert abs(np.ptp(stroke) - 2 * CRANK) < 1e-4

# what the motor gives goes into the masses and the sheet, at every time
given = torque * result["shaft"].rate
taken = np.gradient(result.energy.kinetic, times) + result["sheet"].force * result["sheet"].rate
print(f"power of the motor up to {given.max():.0f} W, balance kept to {np.abs(given - taken)[1:-1].max():.1f} W")
result.plot("ram.velocity.x", "sheet.force", "motor.effort", title="A press", path="kinematics_of_a_press.png")
