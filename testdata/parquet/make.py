"""Writes one small table as Parquet with pyarrow and polars, in the ways they differ, and as CSV.

    python make.py     # needs pyarrow, polars, numpy; their versions are in versions.json
"""

import json
import platform
from pathlib import Path

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
ROWS = 40
random = np.random.default_rng(3)
table = {
    "int8": random.integers(-128, 128, ROWS).astype(np.int8),
    "uint32": random.integers(0, 2**32, ROWS).astype(np.uint32),
    "int64": random.integers(-(2**50), 2**50, ROWS),
    "float": random.normal(size=ROWS).astype(np.float32),
    "double": random.normal(size=ROWS),
    "bool": random.integers(0, 2, ROWS).astype(bool),
    "kind": np.array(["lily", "rose, red", "Märzenbecher"])[random.integers(0, 3, ROWS)],
}
arrow = pa.table(table)

# Runs of equal values, optional columns, one group.
pq.write_table(arrow, HERE / "snappy.parquet", store_schema=False)
# No dictionary, several groups and pages, columns that cannot be missing.
required = pa.schema([pa.field(f.name, f.type, nullable=False) for f in arrow.schema])
pq.write_table(arrow.cast(required), HERE / "plain.parquet", compression="none", use_dictionary=False,
               row_group_size=25, store_schema=False, write_statistics=False)
pq.write_table(arrow, HERE / "v2.parquet", compression="gzip", data_page_version="2.0", version="2.6",
               use_dictionary=False, store_schema=False, write_statistics=False,
               column_encoding={"int8": "DELTA_BINARY_PACKED", "uint32": "DELTA_BINARY_PACKED",
                                "int64": "DELTA_BINARY_PACKED", "float": "BYTE_STREAM_SPLIT",
                                "double": "BYTE_STREAM_SPLIT", "bool": "RLE",
                                "kind": "DELTA_LENGTH_BYTE_ARRAY"})
polars.DataFrame(table).write_parquet(HERE / "polars.parquet")
short = arrow.select(["double", "kind"]).slice(0, 4)
gap = pa.table({"a": [1.0, 2.0, None, 4.0], "kind": short["kind"]})
pq.write_table(gap, HERE / "missing.parquet", store_schema=False, write_statistics=False)
odd = pa.table({"when": pa.array([0, 1], pa.timestamp("us"))})
pq.write_table(odd, HERE / "times.parquet", store_schema=False, write_statistics=False)

with open(HERE / "table.csv", "w") as out:
    out.write(",".join(table) + "\n")
    for row in zip(*table.values()):
        cells = [repr(float(v)) if isinstance(v, np.floating) else str(v) if isinstance(v, np.str_) else
                 str(int(v)) for v in row]
        out.write(",".join(f'"{cell}"' if "," in cell else cell for cell in cells) + "\n")
versions = {"python": platform.python_version(), "pyarrow": pa.__version__, "polars": polars.__version__}
(HERE / "versions.json").write_text(json.dumps(versions) + "\n")
