"""The gate: pins, verdicts and what differs. Pure: no pytest, no paths, no clock."""
