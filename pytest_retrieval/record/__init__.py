"""Recording: asking a model once, and keeping what it said so that nothing is ever asked twice."""
