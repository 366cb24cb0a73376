"""A cheap stand-in for the CFD solver: pressure-swirl nozzle, five inputs, three outputs."""
import numpy as np

INPUTS = ("pressure_Pa", "orifice_m", "viscosity_Pas", "swirl_angle_deg", "surface_tension_N_m")
OUTPUTS = ("mass_flow_kg_s", "droplet_smd_um", "cone_angle_deg")
RHO = 880.0


def design_space(n, rng):
    lo = np.array([2e5, 2e-4, 8e-4, 20.0, 0.020])
    hi = np.array([6e6, 1.2e-3, 2e-2, 75.0, 0.072])
    u = (rng.permuted(np.tile(np.arange(n), (5, 1)), axis=1).T + rng.random((n, 5))) / n  # latin hypercube
    return lo * (hi / lo) ** u


def solve(X, rng, noise=0.02):
    p, d, mu, swirl, sigma = X.T
    theta = np.deg2rad(swirl)
    v = np.sqrt(2 * p / RHO)
    re = RHO * v * d / mu
    cd = 0.62 * (1 - 0.55 * np.sin(theta) ** 2) * (1 - np.exp(-re / 900.0)) + 0.08
    flow = (p > 2.5e5) * cd * np.pi * d**2 / 4 * np.sqrt(2 * p * RHO)
    we = RHO * v**2 * d / sigma
    oh = mu / np.sqrt(RHO * sigma * d)
    smd = 1e6 * d * 7.0 * we ** -0.32 * (1 + 2.2 * oh) * (1 - 0.3 * np.sin(theta))
    cone = 2 * swirl * (0.35 + 0.65 * np.tanh(re / 4000.0)) * (1 - 0.12 * np.log10(we / 1e3))
    Y = np.stack([flow, smd, cone], axis=1)
    return Y * (1 + noise * rng.standard_normal(Y.shape))
