"""Files and folders that appear whole or not at all, and stay: a reader, a crash or a power cut finds old or new."""

from topicture.atomic.files import write_atomically
from topicture.atomic.folders import finish_replacing, new_folder
from topicture.atomic.leftovers import remove_leftovers, work_folder
from topicture.atomic.syncing import make_folder, sync_file, sync_folder, sync_tree

__all__ = [
    "finish_replacing",
    "make_folder",
    "new_folder",
    "remove_leftovers",
    "sync_file",
    "sync_folder",
    "sync_tree",
    "work_folder",
    "write_atomically",
]
