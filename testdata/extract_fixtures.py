"""Makes banana.npz and snelson15.npz here from the full reference values.

usage: extract_fixtures.py [directory of the reference values]

All arrays keep their names and values, and all are stored in C order (some originals, `V` among
them, are in Fortran order, a trap for readers that ignore the flag); `banana.npz` leaves out the P x P matrices and the
velocities of the linearised geodesics (size). Added, all of the nll at theta without prior:
ggn_diag, hess_diag (P), and ggn_V, hess_V (5 x P), rows GGN @ V[i] and Hessian @ V[i].
`snelson15.npz` also has the full `ggn`.
"""

import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
LEFT_OUT = {"banana": {"hess_nll", "lin_vel", "opt_lin_vel"}, "snelson15": set()}
LIMIT = 1_050_000  # bytes, everything in this directory


def extract(path, case):
    with np.load(os.path.join(path, case + ".npz")) as z:
        full = {key: z[key] for key in z.files}
    ggn = np.load(os.path.join(path, case + "_ggn.npy"))
    out = {key: value for key, value in full.items() if key not in LEFT_OUT[case]}
    for name, matrix in [("ggn", ggn), ("hess", full["hess_nll"])]:
        out[name + "_diag"] = np.diag(matrix).copy()
        out[name + "_V"] = full["V"] @ matrix  # symmetric: row i is matrix @ V[i]
    if case == "snelson15":
        out["ggn"] = ggn
    out = {key: np.array(value, order="C") for key, value in out.items()}
    np.savez(os.path.join(HERE, case + ".npz"), **out)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "/work/shared/fixtures"
    for case in LEFT_OUT:
        extract(path, case)
    files = [entry for entry in os.scandir(HERE) if entry.is_file()]
    total = sum(entry.stat().st_size for entry in files)
    print(f"{total} bytes in {len(files)} files")
    if total >= LIMIT:
        raise SystemExit(f"testdata exceeds {LIMIT} bytes")


if __name__ == "__main__":
    main()
