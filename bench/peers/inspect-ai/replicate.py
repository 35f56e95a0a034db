"""Makes N logs out of one by changing the ids in its header, for N runs: `replicate.py LOG.eval OUT N`."""

import json
import shutil
import sys
import zipfile
from pathlib import Path

import zipfile_zstd  # noqa: F401 - teaches zipfile how the members are compressed

OWN = ("header.json", "_journal/start.json", "summaries.json")


def main() -> None:
    """Copy the log; give each copy ids of its own."""
    source, out, n = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(source) as log:
        documents = {name: json.loads(log.read(name)) for name in OWN}
    for number in range(n):
        copy = out / f"2026-01-01T00-00-{number:02d}-00-00_gsm-mock_{number:022d}.eval"
        shutil.copyfile(source, copy)
        with zipfile.ZipFile(copy, "a", zipfile.ZIP_DEFLATED) as log:
            log.filelist[:] = [member for member in log.filelist if member.filename not in OWN]
            for name, document in documents.items():
                log.NameToInfo.pop(name)
                if name == "summaries.json":
                    # rows whose sample has an id that was seen before are dropped when reading
                    renamed = [{**row, "uuid": f"{number:03d}{row['uuid'][3:]}"} for row in document]
                    log.writestr(name, json.dumps(renamed))
                    continue
                ids = {
                    "eval_id": f"evalid{number:016d}",
                    "run_id": f"runid{number:017d}",
                    "task_id": f"taskid{number:016d}",
                }
                log.writestr(name, json.dumps({**document, "eval": {**document["eval"], **ids}}))


if __name__ == "__main__":
    main()
