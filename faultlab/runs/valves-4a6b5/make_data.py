"""Writes valves.csv: sensor rows of control valves and what the bench test said of each (simulated)."""

import csv
import math
import random

COLUMNS = ["inlet_bar", "outlet_bar", "temp_c", "flow_lpm", "stroke_mm", "motor_ma", "vibration_mg", "cycles", "state"]
STATES = ["ok", "leaking", "sticking", "worn_seat"]


def simulate(rng):
    state = rng.choices(STATES, [0.52, 0.20, 0.16, 0.12])[0]
    inlet = rng.gauss(6.0, 0.8)
    stroke = rng.uniform(2.0, 18.0)
    temp = rng.gauss(48, 12)
    cycles = rng.expovariate(1 / 40000)
    if state == "worn_seat":
        cycles += rng.expovariate(1 / 50000)
    opening = stroke / 20
    friction = 1.0 + 0.004 * abs(temp - 45) + (rng.uniform(0.2, 1.1) if state == "sticking" else 0)
    flow = 210 * opening**1.4 * math.sqrt(inlet / 6)
    if state == "leaking":
        flow += rng.uniform(6, 30)
    if state == "worn_seat":
        flow *= 1 + rng.uniform(0.02, 0.3)
    outlet = inlet - 0.9 - 0.011 * flow + rng.gauss(0, 0.12)
    motor = 38 * friction * (0.7 + 0.3 * opening) + rng.gauss(0, 3.5)
    vibration = 9 + 0.05 * flow + (rng.uniform(0, 9) if state == "worn_seat" else 0) + rng.expovariate(1 / 2.5)
    return [inlet, outlet, temp, flow + rng.gauss(0, 3), stroke, motor, vibration, cycles, state]


def write_csv(path, count=4000, seed=77):
    rng = random.Random(seed)
    with open(path, "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(COLUMNS)
        valves = [simulate(rng) for _ in range(count)]
        for *values, state in sorted(valves, key=lambda valve: STATES.index(valve[-1])):
            writer.writerow([f"{v:.3f}" for v in values] + [state])
