"""Every way in which Topicture writes, as jobs: set up, run while recorded, and look at what a power cut left.

    python crash_jobs.py JOB ROOT ACKS     runs one job and tells in the file ACKS what is done

`check(root, acks, before, after)` gives what is wrong with the folder `root`; `before` and `after` are the folder as it
was and as the undisturbed job left it.
"""

import os
import sys
from pathlib import Path

import catalog_jobs
import file_jobs

BROKEN = {
    "forgetful-sidecars": file_jobs.ForgetfulSidecars(),
    "forgetful-folder": file_jobs.ForgetfulFolder(),
}

JOBS = {
    "sidecars": file_jobs.Sidecars(),
    "decisions": catalog_jobs.Decisions(),
    "init": catalog_jobs.Init(),
    "learning": catalog_jobs.Learning(),
    "writing": catalog_jobs.Writing(),
    "folder": file_jobs.Folder(),
    "folder-in-two-steps": file_jobs.FolderInTwoSteps(),
    "export": file_jobs.Export(),
    "backup": catalog_jobs.Backup(),
    "cache": file_jobs.Cache(),
    "model-file": file_jobs.ModelFile(),
    "index": file_jobs.Index(),
}


def main():
    job, root, acks = {**JOBS, **BROKEN}[sys.argv[1]], Path(sys.argv[2]), sys.argv[3]
    told = os.open(acks, os.O_WRONLY | os.O_CREAT)
    job.run(root, lambda what: os.write(told, f"{what}\n".encode()))


if __name__ == "__main__":
    main()
