"""The only rooms that open paths: gold sets, TREC and BEIR files, and what is read from them."""
