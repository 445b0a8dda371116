"""The first model: a rod on a pin with a spring in it, its motion, and the force in the pin."""

import linkwork as lw

model = lw.Model("pendulum", gravity=(0, -9.81, 0))
arm = model.add(lw.Body("arm", mass=3.0, inertia=(0.01, 1.0, 1.0), position=(1, 0, 0)))
model.add(lw.Revolute("pin", model.ground, arm, point=(0, 0, 0), axis=(0, 0, 1)))
model.add(lw.RotationalSpring("coil", on="pin", stiffness=40, damping=1.5, free_angle=-1.57))

if __name__ == "__main__":
    print(model.check())
    result = model.simulate(5.0, rtol=1e-8, atol=1e-8)
    print(result)

    # where the spring and the weight are in balance, from the last state of the run
    print(f"angle at the end   {result['pin'].angle[-1]:.4f} rad")
    print(f"force in the pin   {result['pin'].force[-1]} N, axes of the joint frame")
    result.plot("pin.angle", "pin.force", title="A pendulum coming to rest", path="pendulum.png")
