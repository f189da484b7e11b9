"""Races: jobs in processes of their own that begin at the same moment."""

import os


def race(jobs, attempt):
    """attempt: from a job's number to its exit code. The codes, in the order of the jobs."""
    reader, writer = os.pipe()
    children = []
    for number in range(jobs):
        child = os.fork()
        if child == 0:
            os.close(writer)
            os.read(reader, 1)
            os._exit(attempt(number))
        children.append(child)
    os.close(reader)
    os.close(writer)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
