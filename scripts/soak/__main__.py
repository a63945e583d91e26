"""Soaks evforge: every detector in turn with all outputs, clients that stall and leave, kills at random moments, and a service that stays.

    python3 scripts/soak --program target/release/evforge --hours 1 --output soak     (make soak HOURS=1)

The result is a folder with soak.json (verdict, findings, every run), samples.csv (what the programs weighed) and plots. The seed is
printed first: --seed gives the same moments and clients again. The exit status is 0 if the verdict is PASSED.
"""

import argparse
import json
import os
import platform
import random
import signal
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import broker
import report
import selftest
from graphite import Graphite
from program import ROOT, run
from sampling import Sampler
from service import Service
from turn import Context, Life, ended, killed

# What happens to packets on their way, in one turn of four: nothing of it makes a run a bad one.
FAULTS = ["lose:probability=1e-2", "repeat:probability=1e-2", "reorder:probability=1e-2", ""]


def detectors() -> list[str]:
    return sorted(path.stem for path in (ROOT / "configs").glob("*.toml"))


def turn(context: Context, detector: str, seconds: float, chance: random.Random) -> None:
    """Two lives of a detector."""
    for what, share in ((killed, 0.4), (ended, 0.6)):
        faults = [fault] if (fault := chance.choice(FAULTS)) and chance.random() < 0.5 else []
        life = Life(context, detector, what.__name__, chance, faults)
        try:
            what(life, seconds * share, chance)
        except Exception as error:  # A finding like any other: the other detectors are still to come.
            life.wrong(f"{type(error).__name__}: {error}")
        finally:
            life.close()


def turns(context: Context, seconds: float, names: list[str], chance: random.Random) -> int:
    """Every detector once, in a random order, for equal times: how many."""
    chance.shuffle(names)
    begun = time.monotonic()
    for place, detector in enumerate(names):
        left = seconds - (time.monotonic() - begun)
        each = max(4.0, left / (len(names) - place))
        print(f"{context.sampler.now() / 60:6.1f} min  {detector}", flush=True)
        turn(context, detector, each, chance)
    return len(names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/evforge")
    parser.add_argument("--hours", type=float, default=0.05)
    parser.add_argument("--output", type=Path, default=ROOT / "target/soak")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--neutrons", default="1kHz", help="rate of each detector")
    parser.add_argument("--detector", action="append", help="only this one; may be given several times")
    parser.add_argument("--no-kafka", action="store_true")
    parser.add_argument("--growth", choices=["bounded", "none"], default="bounded",
                        help="none: memory is measured and not judged, for programs that are built to keep it (sanitizers)")
    parser.add_argument("--note", default="", help="what else is to be known of the program: its build")
    parser.add_argument("--self-test", action="store_true", help="check the arithmetic of the verdict, and end")
    arguments = parser.parse_args()
    if arguments.self_test:
        return selftest.check()
    # So that everything that was started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 31)
    seconds = arguments.hours * 3600
    print(f"seed {seed}", flush=True)
    program = arguments.program.resolve()
    version = run(program, "--version").stdout.strip()
    began = datetime.now(timezone.utc)
    arguments.output.mkdir(parents=True, exist_ok=True)
    skipped = broker.problem() or ("asked for" if arguments.no_kafka else "")
    if skipped:
        print(f"skipped: Kafka: {skipped}", flush=True)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="evforge-soak-") as folder:
        graphite = Graphite(chance.randrange(1 << 31))
        kafka = None if skipped else broker.Broker(Path(folder))
        sampler = Sampler(arguments.output / "samples.csv", max(1.0, min(5.0, seconds / 200)))
        context = Context(program, Path(folder), sampler, graphite.port, kafka.port if kafka else None, arguments.neutrons,
                          judges_growth=arguments.growth == "bounded")
        service, told = None, {}
        try:
            service = Service(context, seconds, max(4.0, min(120.0, seconds / 20)), chance.randrange(1 << 31))
            count = turns(context, seconds, arguments.detector or detectors(), chance)
            told = service.end()
        except Exception as error:
            context.find(f"{type(error).__name__}: {error}")
            count = 0
        finally:
            if service and service.program.process.poll() is None:
                service.electronics.stop()
                service.program.process.kill()
            if kafka:
                kafka.stop()
            graphite.stop()
            sampler.stop()
    if graphite.bad or not graphite.lines:
        context.find(f"Graphite got {graphite.lines} lines, these are none: {graphite.bad}")
    kills = sum(life.get("end") == "KILL" for life in context.lives)
    verdict = "PASSED" if not context.findings else "FAILED"
    result = {
        "format": "evforge soak of all", "schema": 1, "verdict": verdict, "findings": context.findings, "seed": seed,
        "began": began.isoformat(timespec="seconds"), "hours": round(sampler.now() / 3600, 3), "program": version, "note": arguments.note,
        "kernel": platform.release().split("-")[0], "cores": len(os.sched_getaffinity(0)), "neutrons": arguments.neutrons,
        "detectors": count, "runs": len(context.lives), "kills": kills, "kafka": not skipped, "kafka_skipped": skipped or None,
        "graphite": {"lines": graphite.lines, "connections": graphite.connections}, "service": told, "lives": context.lives,
    }
    (arguments.output / "soak.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    try:
        import plots
        plots.draw(arguments.output)
    except ImportError as error:
        print(f"skipped: plots: {error}")
    report.write(arguments.output)
    print(f"{verdict}: {count} detectors, {len(context.lives)} runs, {kills} kills in {sampler.now() / 3600:.2f} h, seed {seed}; "
          f"memory of the service {told.get('growth_bytes_per_hour', 0) / 1e6:+.2f} MB an hour in the later half")
    for finding in context.findings:
        print(f"  {finding}")
    return 0 if verdict == "PASSED" else 1


if __name__ == "__main__":
    sys.exit(main())
